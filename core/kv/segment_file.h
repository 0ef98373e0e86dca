// A segment as a file that can be mapped into memory and read in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/mapped_file.h"
#include "core/kv/segment_buffer.h"

namespace reprise::kv {

// Little-endian:
//   8 bytes   "RPRSEG1\n"
//   u64       bytes of the header text
//   u64       XXH3 of magic, length and header text
//   ...       header: JSON with key, note, layers, kv_heads, tokens, head_dim, dtype,
//             keys_hash, values_hash (XXH3, 16 hexadecimal digits)
//   ...       zeros to a multiple of 4096 bytes; keys; zeros likewise; values
// Bytes below count from the begin of the file.
struct SegmentFileHeader {
  std::string key;
  std::string note;
  SegmentShape shape;
  uint64_t keys_hash = 0, values_hash = 0;
  size_t keys_begin = 0, values_begin = 0;
};

enum class Verify : uint8_t {
  kHeader,  // the header's own hash and the file's size: the states are paged in as they are read
  kAll      // the states' hashes too, which reads the whole file
};

// A file that has been opened and found sound. Move-only; the states stay mapped for its life.
class SegmentFile {
 public:
  // Throws Error naming the path and what is wrong with the file: not a segment, cut off, damaged,
  // of another version.
  SegmentFile(const std::filesystem::path& path, Verify verify);

  [[nodiscard]] const SegmentFileHeader& header() const { return header_; }
  [[nodiscard]] CacheView view() const;
  [[nodiscard]] int64_t file_bytes() const { return static_cast<int64_t>(map_.bytes().size()); }
  // A copy in memory.
  [[nodiscard]] SegmentBuffer read() const;

 private:
  MappedFile map_;
  SegmentFileHeader header_;
};

// Appears whole under `path` or not at all. Throws Error where the disk refuses.
void write_segment(const std::filesystem::path& path, const std::string& key,
                   const SegmentBuffer& segment);

// Bytes that write_segment() would write.
int64_t segment_file_bytes(const std::string& key, const SegmentBuffer& segment);

}  // namespace reprise::kv
