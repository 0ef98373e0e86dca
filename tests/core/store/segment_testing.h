// Makes segments whose contents tell which segment they belong to.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_file.h"
#include "core/store/segment_store.h"

namespace reprise::kv {

inline constexpr SegmentShape kSmallSegment = {
    .layers = 2, .kv_heads = 3, .tokens = 5, .head_dim = 8, .dtype = DType::kF32};

inline const int64_t kSmallSegmentBytes = kSmallSegment.bytes();

// Keys and values of arbitrary bits that depend on `seed` alone.
inline SegmentBuffer segment_of(uint64_t seed, const SegmentShape& shape = kSmallSegment) {
  SegmentBuffer segment(shape);
  uint64_t index = 0;
  for (AlignedBuffer* half : {&segment.keys, &segment.values})
    for (size_t byte = 0; byte < shape.half_bytes(); ++byte)
      half->as<uint8_t>()[byte] = static_cast<uint8_t>(random_bits(seed, 0, index++));
  segment.note = "note " + std::to_string(seed);
  return segment;
}

// Finite states that depend on `seed` alone, each channel of a magnitude of its own.
inline SegmentBuffer finite_segment_of(uint64_t seed, const SegmentShape& shape = kSmallSegment) {
  SegmentBuffer segment(shape);
  const auto elements = shape.half_bytes() / size_of(shape.dtype);
  std::vector<float> states(elements);
  for (uint64_t half = 0; half < 2; ++half) {
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t channel = i % static_cast<uint64_t>(shape.head_dim);
      states[i] = static_cast<float>((2 * random_unit(seed, half, i) - 1) *
                                     std::exp2(8 * random_unit(seed + 1, half, channel)));
    }
    convert(states.data(), DType::kF32, (half == 0 ? segment.keys : segment.values).data(),
            shape.dtype, elements);
  }
  segment.note = "note " + std::to_string(seed);
  return segment;
}

// True if the view reads exactly the states of `expected` in one layer.
inline bool equals_in_layer(const CacheView& view, const SegmentBuffer& expected, int64_t layer) {
  const SegmentShape& shape = expected.shape;
  const size_t bytes = shape.half_bytes() / static_cast<size_t>(shape.layers);
  const size_t from = static_cast<size_t>(layer * view.layer_stride) * size_of(shape.dtype);
  const size_t at = static_cast<size_t>(layer) * bytes;
  return std::memcmp(static_cast<const char*>(view.keys) + from, expected.keys.as<char>() + at,
                     bytes) == 0 &&
         std::memcmp(static_cast<const char*>(view.values) + from, expected.values.as<char>() + at,
                     bytes) == 0;
}

// True if the view equals `expected` in all layers, which need not be contiguous.
inline bool equals(const CacheView& view, const SegmentBuffer& expected) {
  for (int64_t layer = 0; layer < expected.shape.layers; ++layer)
    if (!equals_in_layer(view, expected, layer)) return false;
  return true;
}

// True if the view reads exactly the states of segment_of(seed, shape).
inline bool holds(const CacheView& view, uint64_t seed, const SegmentShape& shape = kSmallSegment) {
  return equals(view, segment_of(seed, shape));
}

// The states of `segment` after they were written to a file in eight bits and read back.
inline SegmentBuffer in_eight_bits(const SegmentBuffer& segment) {
  SegmentBuffer restored(segment.shape);
  restored.note = segment.note;
  SegmentImage("any", segment, {.form = SegmentForm::kInt8}).restore(restored);
  return restored;
}

// Size in bytes of the file that put() writes.
inline int64_t segment_file_bytes(const SegmentKey& key, const SegmentBuffer& segment,
                                  const SegmentFileOptions& options = {}) {
  return SegmentImage(key, segment, options).bytes();
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_content(const std::filesystem::path& path, const std::string& content) {
  // A new file each time: ext4 flushes a file that is truncated and written again.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// The files of a folder that end in `ending`.
inline std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder,
                                                   const std::string& ending = ".segment") {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().string().ends_with(ending)) files.push_back(file.path());
  return files;
}

// True if the store has segment_of(seed), whole, under the key.
inline bool acquires(SegmentStore& store, const SegmentKey& key, uint64_t seed) {
  const auto handle = store.acquire(key);
  return handle && holds(handle->view(), seed) && handle->note() == "note " + std::to_string(seed);
}

}  // namespace reprise::kv
