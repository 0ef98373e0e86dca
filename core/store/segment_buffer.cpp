#include "core/store/segment_buffer.h"

#include <limits>

#include "core/base/error.h"

namespace reprise::kv {
namespace {

// Returns the element offset of token `token` of a segment in its cache, layer 0, head 0.
int64_t offset_of(const AttentionPlan& plan, const Segment& segment, int32_t token) {
  const int32_t place = segment.skipped + token;
  const auto block = static_cast<size_t>(segment.first_block + place / segment.block_tokens);
  return plan.block_offsets[block] +
         place % segment.block_tokens * plan.caches[static_cast<size_t>(segment.cache)].head_dim;
}

}  // namespace

std::string text_of(const SegmentShape& shape) {
  return fmt::format("{} layers x {} kv heads x {} tokens x {}, {}", shape.layers, shape.kv_heads,
                     shape.tokens, shape.head_dim, name_of(shape.dtype));
}

void validate(const SegmentShape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : {shape.layers, shape.kv_heads, shape.tokens, shape.head_dim}) {
    if (extent < 1) raise_shape("a segment of {}: each extent is at least 1", text_of(shape));
    // Token indices are 32 bits wide; keys and values of all layers are addressed in bytes.
    if (extent > std::numeric_limits<int32_t>::max() ||
        elements > std::numeric_limits<int64_t>::max() / 16 / extent)
      raise_shape("a segment of {} is too large to be addressed", text_of(shape));
    elements *= extent;
  }
}

CacheView view_of(const SegmentShape& shape, const void* keys, const void* values) {
  // The const_cast is safe, since kernels write only to cache 0 of a plan, which is never a
  // segment's cache.
  return {.keys = const_cast<void*>(keys),
          .values = const_cast<void*>(values),
          .dtype = shape.dtype,
          .device = Device::kCpu,
          .layer_stride = shape.kv_heads * shape.tokens * shape.head_dim,
          .head_stride = shape.tokens * shape.head_dim,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim};
}

SegmentBuffer::SegmentBuffer(const SegmentShape& wanted) : shape(wanted) {
  validate(shape);
  keys = AlignedBuffer(shape.half_bytes());
  values = AlignedBuffer(shape.half_bytes());
}

SegmentBuffer gather_segment(const AttentionPlan& plan, int32_t segment_index, int64_t layers,
                             DType dtype) {
  const Segment& segment = plan.segments.at(static_cast<size_t>(segment_index));
  const CacheView& cache = plan.caches.at(static_cast<size_t>(segment.cache));
  require_device(cache.device, "a copy of a segment");
  SegmentBuffer gathered({.layers = layers,
                          .kv_heads = cache.kv_heads,
                          .tokens = segment.tokens,
                          .head_dim = cache.head_dim,
                          .dtype = dtype});
  const auto row = static_cast<size_t>(cache.head_dim);
  const size_t from_size = size_of(cache.dtype), to_size = size_of(dtype);
  size_t target = 0;  // in elements: rows are written in order
  for (int64_t layer = 0; layer < layers; ++layer)
    for (int64_t head = 0; head < cache.kv_heads; ++head)
      for (int32_t token = 0; token < segment.tokens; ++token, target += row) {
        const auto source =
            static_cast<size_t>(offset_of(plan, segment, token) + layer * cache.layer_stride +
                                head * cache.head_stride);
        convert(static_cast<const char*>(cache.keys) + source * from_size, cache.dtype,
                gathered.keys.as<char>() + target * to_size, dtype, row);
        convert(static_cast<const char*>(cache.values) + source * from_size, cache.dtype,
                gathered.values.as<char>() + target * to_size, dtype, row);
      }
  return gathered;
}

}  // namespace reprise::kv
