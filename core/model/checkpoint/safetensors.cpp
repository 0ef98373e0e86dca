#include "core/model/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::model {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are read in place");

constexpr size_t kLengthBytes = 8;
constexpr const char* kNextStep = "download or export the file again";

struct KnownDtype {
  const char* name;
  int bits;
};
constexpr std::array kDtypes = {
    KnownDtype{"F32", 32},    KnownDtype{"BF16", 16},   KnownDtype{"F16", 16},
    KnownDtype{"F64", 64},    KnownDtype{"I64", 64},    KnownDtype{"U64", 64},
    KnownDtype{"I32", 32},    KnownDtype{"U32", 32},    KnownDtype{"I16", 16},
    KnownDtype{"U16", 16},    KnownDtype{"I8", 8},      KnownDtype{"U8", 8},
    KnownDtype{"BOOL", 8},    KnownDtype{"F8_E4M3", 8}, KnownDtype{"F8_E5M2", 8},
    KnownDtype{"F8_E8M0", 8}, KnownDtype{"C64", 64},    KnownDtype{"F4", 4},
    KnownDtype{"F6_E2M3", 6}, KnownDtype{"F6_E3M2", 6},
};

// Returns the header length, which is in the first kLengthBytes bytes. These must exist.
uint64_t header_bytes_of(std::span<const std::byte> file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  return length;
}

// Returns the header, which follows its length. All of it must be in `file`.
std::string_view header_text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, header_bytes_of(file)};
}

// Returns the beginning of an error message: `FILE, tensor "NAME"`.
std::string where(const std::filesystem::path& path, const std::string& name) {
  return fmt::format("{}, tensor {}", path.string(), quoted_name(name));
}

uint64_t read_unsigned(const Value& value, const std::string& place, const char* what) {
  const std::optional<uint64_t> number = value.whole();
  if (!number)
    raise("{}: {} must be a whole number of at least 0, found {}; {}", place, what, shown(value),
          kNextStep);
  return *number;
}

std::vector<int64_t> read_shape(const Value& value, const std::string& place) {
  constexpr size_t kMaxRank = 32;
  if (!value.is_list() || value.size() > kMaxRank)
    raise("{}: \"shape\" must be a list of at most {} extents; {}", place, kMaxRank, kNextStep);
  std::vector<int64_t> shape;
  for (const Value& extent : value.list()) {
    const uint64_t count = read_unsigned(extent, place, "an extent of \"shape\"");
    if (count > static_cast<uint64_t>(INT64_MAX))
      raise("{}: extent {} of \"shape\" is too large; {}", place, count, kNextStep);
    shape.push_back(static_cast<int64_t>(count));
  }
  return shape;
}

int64_t count_elements(const SafetensorsEntry& entry, const std::string& place) {
  int64_t elements = 1;
  for (const int64_t extent : entry.shape)
    if (__builtin_mul_overflow(elements, extent, &elements))
      raise("{}: shape {} has more elements than 64 bits can count; {}", place, entry.shape_text(),
            kNextStep);
  return elements;
}

// Reads one entry of the header. `data_bytes`: bytes of the file after its header.
SafetensorsEntry read_entry(const Value& json, const std::string& place, size_t data_bytes) {
  if (!json.contains("dtype") || !json.contains("shape") || !json.contains("data_offsets"))
    raise("{}: needs \"dtype\", \"shape\" and \"data_offsets\"; {}", place, kNextStep);
  SafetensorsEntry entry;
  if (!field_of(json, "dtype").is_text())
    raise("{}: \"dtype\" must be a string; {}", place, kNextStep);
  entry.dtype_name = field_of(json, "dtype").text();
  const auto* known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const KnownDtype& dtype) {
    return entry.dtype_name == dtype.name;
  });
  if (known == kDtypes.end())
    raise("{}: dtype \"{}\" is unknown; export the model in F32, BF16 or F16", place,
          entry.dtype_name.substr(0, 100));
  if (entry.dtype_name == "F32") entry.dtype = DType::kF32;
  if (entry.dtype_name == "BF16") entry.dtype = DType::kBF16;
  if (entry.dtype_name == "F16") entry.dtype = DType::kF16;
  entry.shape = read_shape(field_of(json, "shape"), place);
  entry.elements = count_elements(entry, place);

  const Value& offsets = field_of(json, "data_offsets");
  if (!offsets.is_list() || offsets.size() != 2)
    raise("{}: \"data_offsets\" must be [begin, end]; {}", place, kNextStep);
  const uint64_t begin = read_unsigned(offsets.list()[0], place, "\"data_offsets\"");
  const uint64_t end = read_unsigned(offsets.list()[1], place, "\"data_offsets\"");
  if (begin > end || end > data_bytes)
    raise(
        "{}: its bytes [{}, {}) are not inside the {} bytes of data: the file is cut short or "
        "damaged; {}",
        place, begin, end, data_bytes, kNextStep);
  entry.offset_bytes = begin;  // the caller adds the offset of the data in the file
  entry.size_bytes = end - begin;
  int64_t bits = 0;
  if (__builtin_mul_overflow(entry.elements, int64_t{known->bits}, &bits) || bits % 8 != 0 ||
      static_cast<uint64_t>(bits / 8) != end - begin)
    raise("{}: {} of shape {} does not take the {} bytes given; {}", place, entry.dtype_name,
          entry.shape_text(), end - begin, kNextStep);
  return entry;
}

void check_metadata(const Value& metadata, const std::filesystem::path& path) {
  bool is_valid = metadata.is_fields();
  if (is_valid)
    for (const auto& [name, fact] : metadata.fields()) is_valid = is_valid && fact.is_text();
  if (!is_valid)
    raise("{}: \"__metadata__\" must map strings to strings; {}", path.string(), kNextStep);
}

// Throws Error unless the tensors cover the data without overlap or gap.
void check_coverage(const std::map<std::string, SafetensorsEntry>& entries,
                    const std::filesystem::path& path, size_t data_bytes) {
  std::vector<std::map<std::string, SafetensorsEntry>::const_iterator> order;
  order.reserve(entries.size());
  for (auto it = entries.begin(); it != entries.end(); ++it) order.push_back(it);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a->second.offset_bytes, a->second.size_bytes) <
           std::pair(b->second.offset_bytes, b->second.size_bytes);
  });
  size_t end = 0;
  for (const auto& it : order) {
    if (it->second.offset_bytes != end)
      raise("{}: starts at byte {} of the data where {} was expected: tensors {}; {}",
            where(path, it->first), it->second.offset_bytes, end,
            it->second.offset_bytes < end ? "overlap" : "leave a hole", kNextStep);
    end += it->second.size_bytes;
  }
  if (end != data_bytes)
    raise("{}: {} bytes of data, but the tensors take {}; {}", path.string(), data_bytes, end,
          kNextStep);
}

}  // namespace

std::string quoted_name(std::string_view name) {
  // The cut may split a character; what is left of it is replaced.
  return json_text(name.substr(0, 200));
}

std::string SafetensorsEntry::shape_text() const {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < kLengthBytes)
    raise("{} has {} bytes, too few for a safetensors file; {}", path.string(), bytes.size(),
          kNextStep);
  const uint64_t header_bytes = header_bytes_of(bytes);
  if (header_bytes > kMaxHeaderBytes)
    raise(
        "{}: a header of {} bytes is more than the {} allowed: not a safetensors file, or "
        "damaged; {}",
        path.string(), header_bytes, kMaxHeaderBytes, kNextStep);
  if (header_bytes > bytes.size() - kLengthBytes)
    raise("{}: a header of {} bytes does not fit the file of {}: it is cut short; {}",
          path.string(), header_bytes, bytes.size(), kNextStep);
  const std::string_view text = header_text_of(bytes);
  if (!text.starts_with('{'))
    raise("{}: the header must begin with {{; not a safetensors file, or damaged; {}",
          path.string(), kNextStep);
  const Value header = parse_json(text, path.string() + " (header)");
  const size_t data_start = kLengthBytes + header_bytes;
  const size_t data_bytes = bytes.size() - data_start;
  for (const auto& [name, value] : header.fields()) {
    if (name == "__metadata__") {
      check_metadata(value, path);
      continue;
    }
    entries_.emplace(name, read_entry(value, where(path, name), data_bytes));
  }
  check_coverage(entries_, path, data_bytes);
  for (auto& [name, entry] : entries_) entry.offset_bytes += data_start;
}

std::optional<std::string> safetensors_header_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const uint64_t header_bytes = header_bytes_of(bytes);
  if (header_bytes > SafetensorsFile::kMaxHeaderBytes || header_bytes > bytes.size() - kLengthBytes)
    return std::nullopt;
  return std::string(header_text_of(bytes));
}

std::span<const std::byte> SafetensorsFile::bytes(const SafetensorsEntry& entry) const {
  return file_.bytes().subspan(entry.offset_bytes, entry.size_bytes);
}

void SafetensorsFile::read(const SafetensorsEntry& entry, int64_t first, int64_t count, DType dtype,
                           void* out) const {
  REPRISE_CHECK(entry.dtype.has_value(), "{} cannot be read as weights", entry.dtype_name);
  REPRISE_CHECK(first >= 0 && count >= 0 && count <= entry.elements - first, "[{}, +{}) of {}",
                first, count, entry.elements);
  const size_t width = size_of(*entry.dtype);
  const std::byte* source = bytes(entry).data() + static_cast<size_t>(first) * width;
  if (*entry.dtype == dtype || reinterpret_cast<uintptr_t>(source) % width == 0) {
    convert(source, *entry.dtype, out, dtype, static_cast<size_t>(count));
    return;
  }
  // The elements are not aligned in the file, so they are converted through a small aligned copy.
  alignas(64) std::array<std::byte, 4096> chunk;
  const int64_t chunk_elements = static_cast<int64_t>(chunk.size() / width);
  for (int64_t done = 0; done < count; done += chunk_elements) {
    const auto now = static_cast<size_t>(std::min(chunk_elements, count - done));
    std::memcpy(chunk.data(), source + static_cast<size_t>(done) * width, now * width);
    convert(chunk.data(), *entry.dtype,
            static_cast<std::byte*>(out) + static_cast<size_t>(done) * size_of(dtype), dtype, now);
  }
}

}  // namespace reprise::model
