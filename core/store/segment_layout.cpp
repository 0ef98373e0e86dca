#include "core/store/segment_layout.h"

namespace reprise::kv {
namespace {

constexpr size_t kPartAlignment = 64;

}  // namespace

SegmentLayout layout_of(const SegmentShape& shape, SegmentForm form) {
  const auto head_elements = static_cast<size_t>(shape.tokens * shape.head_dim);
  const auto heads = static_cast<size_t>(shape.kv_heads);
  std::vector<size_t> bytes;
  if (form == SegmentForm::kInt8) {
    const size_t scales = heads * static_cast<size_t>(shape.head_dim) * sizeof(float);
    bytes = {scales, scales, heads * head_elements, heads * head_elements};
  } else {
    bytes.assign(2, heads * head_elements * size_of(shape.dtype));
  }
  SegmentLayout layout;
  for (const size_t part : bytes) {
    const size_t begin = rounded_up(layout.layer_bytes, kPartAlignment);
    layout.parts.push_back({begin, part});
    layout.layer_bytes = begin + part;
  }
  layout.layer_stride = rounded_up(layout.layer_bytes, kFilePage);
  return layout;
}

}  // namespace reprise::kv
