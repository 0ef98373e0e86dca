// One memory-mapped .safetensors file. The constructor checks its list of tensors in full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/mapped_file.h"

namespace reprise::model {

struct SafetensorsEntry {
  std::string dtype_name;      // as the file spells it: "F32", "BF16", "I64", ...
  std::optional<DType> dtype;  // set for dtypes that can be read as weights: F32, BF16, F16
  std::vector<int64_t> shape;  // outermost first; [] is a single number
  int64_t elements = 0;
  size_t offset_bytes = 0;  // from the start of the file; not necessarily aligned to the dtype
  size_t size_bytes = 0;

  [[nodiscard]] std::string shape_text() const;  // "[2, 3]"
};

// Returns a name from a file in a form fit for messages: quoted, escaped, cut at 200 bytes.
std::string quoted_name(std::string_view name);

// The file format: a header length N (8 bytes, little-endian), N bytes of JSON {name: {dtype,
// shape, data_offsets: [begin, end)}}, then the data. The constructor reads only the header. It
// throws Error, naming file and tensor, unless the header is strict JSON of at most 100 MB, every
// shape matches its number of bytes, and the tensors cover the data without overlap, gap or
// remainder.
class SafetensorsFile {
 public:
  static constexpr size_t kMaxHeaderBytes = 100'000'000;

  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }

  // Converts elements [first, first + count) of the entry to `dtype` and writes them to `out`. The
  // entry must belong to this file and have a dtype. Thread-safe; allocates nothing.
  void read(const SafetensorsEntry& entry, int64_t first, int64_t count, DType dtype,
            void* out) const;
  // The entry's bytes as stored in the file.
  [[nodiscard]] std::span<const std::byte> bytes(const SafetensorsEntry& entry) const;
  void release(const SafetensorsEntry& entry) const {
    file_.release(entry.offset_bytes, entry.size_bytes);
  }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry> entries_;
};

// Returns the unparsed JSON header of a file, without reading the tensors. Returns nullopt if the
// file ends before its header does, or if the header is longer than kMaxHeaderBytes. Throws Error
// if the file cannot be opened.
std::optional<std::string> safetensors_header_of(const std::filesystem::path& path);

}  // namespace reprise::model
