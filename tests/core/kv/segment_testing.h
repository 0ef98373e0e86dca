// Segments with contents that tell them apart.
#pragma once

#include <cstring>
#include <string>

#include "core/base/random.h"
#include "core/kv/segment_buffer.h"

namespace reprise::kv {

inline constexpr SegmentShape kSmallSegment = {
    .layers = 2, .kv_heads = 3, .tokens = 5, .head_dim = 8, .dtype = DType::kF32};

// Keys and values that depend on `seed` alone.
inline SegmentBuffer segment_of(uint64_t seed, const SegmentShape& shape = kSmallSegment) {
  SegmentBuffer segment(shape);
  uint64_t index = 0;
  for (AlignedBuffer* half : {&segment.keys, &segment.values})
    for (size_t byte = 0; byte < shape.half_bytes(); ++byte)
      half->as<uint8_t>()[byte] = static_cast<uint8_t>(random_bits(seed, 0, index++));
  segment.note = "note " + std::to_string(seed);
  return segment;
}

// Whether the view reads exactly what segment_of(seed, shape) holds.
inline bool holds(const CacheView& view, uint64_t seed, const SegmentShape& shape = kSmallSegment) {
  const SegmentBuffer expected = segment_of(seed, shape);
  return std::memcmp(view.keys, expected.keys.data(), shape.half_bytes()) == 0 &&
         std::memcmp(view.values, expected.values.data(), shape.half_bytes()) == 0;
}

}  // namespace reprise::kv
