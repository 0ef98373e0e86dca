#include "core/store/segment_buffer.h"

#include <limits>

#include "core/base/error.h"

namespace reprise::kv {

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

}  // namespace reprise::kv
