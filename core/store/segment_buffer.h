// The keys and values of a run of tokens in host memory of their own.
#pragma once

#include <cstdint>
#include <string>

#include "core/device/buffer.h"
#include "core/kv/plan.h"

namespace reprise::kv {

// Extents of a segment, each at least 1.
struct SegmentShape {
  int64_t layers = 0, kv_heads = 0, tokens = 0, head_dim = 0;
  DType dtype = DType::kF32;

  // Bytes of the keys alone; the values have as many.
  [[nodiscard]] size_t half_bytes() const {
    return static_cast<size_t>(layers * kv_heads * tokens * head_dim) * size_of(dtype);
  }
  [[nodiscard]] int64_t bytes() const { return 2 * static_cast<int64_t>(half_bytes()); }
  friend bool operator==(const SegmentShape&, const SegmentShape&) = default;
};

// Text for messages: "2 layers x 4 kv heads x 17 tokens x 64, bf16".
std::string text_of(const SegmentShape& shape);

// Throws ShapeError naming the shape if an extent is below 1 or the whole is too large to address.
void validate(const SegmentShape& shape);

// Returns a view of keys and values with the layout of SegmentBuffer. In a plan, the view is a
// cache with one block, at offset 0, that holds all tokens.
[[nodiscard]] CacheView view_of(const SegmentShape& shape, const void* keys, const void* values);

// Keys and values are [layers, kv_heads, tokens, head_dim] each. Move-only.
struct SegmentBuffer {
  SegmentShape shape;
  AlignedBuffer keys, values;
  // The owner's data about the states (positions, provenance). Stored but never interpreted here.
  std::string note;

  SegmentBuffer() = default;
  // A buffer of zeros. Throws ShapeError for a bad shape, and MemoryError if the memory does not
  // fit.
  explicit SegmentBuffer(const SegmentShape& shape);
  [[nodiscard]] CacheView view() const { return view_of(shape, keys.data(), values.data()); }
};

}  // namespace reprise::kv
