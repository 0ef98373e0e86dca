// Keys and values of a run of tokens in memory of their own, apart from any pool.
#pragma once

#include <cstdint>
#include <string>

#include "core/device/buffer.h"
#include "core/kv/plan.h"

namespace reprise::kv {

// Extents of a segment. All at least 1.
struct SegmentShape {
  int64_t layers = 0, kv_heads = 0, tokens = 0, head_dim = 0;
  DType dtype = DType::kF32;

  // Of keys alone, which are as many as values.
  [[nodiscard]] size_t half_bytes() const {
    return static_cast<size_t>(layers * kv_heads * tokens * head_dim) * size_of(dtype);
  }
  [[nodiscard]] int64_t bytes() const { return 2 * static_cast<int64_t>(half_bytes()); }
  friend bool operator==(const SegmentShape&, const SegmentShape&) = default;
};

// "2 layers x 4 kv heads x 17 tokens x 64, bf16", for messages.
std::string text_of(const SegmentShape& shape);

// Throws ShapeError naming the extent that is below 1, or too large to be addressed.
void validate(const SegmentShape& shape);

// How a plan reads keys and values that lie as SegmentBuffer's: a segment of one block at offset 0,
// all tokens of which are one run.
[[nodiscard]] CacheView view_of(const SegmentShape& shape, const void* keys, const void* values);

// Owned, move-only.   keys, values  [layers, kv_heads, tokens, head_dim] each
struct SegmentBuffer {
  SegmentShape shape;
  AlignedBuffer keys, values;
  // What its owner has to know beside the states (positions, provenance): kept, never read here.
  std::string note;

  SegmentBuffer() = default;
  // Zeros. Throws ShapeError, and Error where the memory is not there.
  explicit SegmentBuffer(const SegmentShape& shape);
  [[nodiscard]] CacheView view() const { return view_of(shape, keys.data(), values.data()); }
};

// The tokens of `segment` of a plan, all layers and heads, copied out of its cache and converted to
// `dtype`. `layers` are those of the cache.
SegmentBuffer gather_segment(const AttentionPlan& plan, int32_t segment, int64_t layers,
                             DType dtype);

}  // namespace reprise::kv
