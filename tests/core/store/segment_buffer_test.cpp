#include "core/store/segment_buffer.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"

namespace reprise::kv {
namespace {

TEST(SegmentBuffer, RefusesExtentsThatCannotBe) {
  for (const SegmentShape& shape :
       {SegmentShape{.layers = 0, .kv_heads = 1, .tokens = 1, .head_dim = 1},
        SegmentShape{.layers = 1, .kv_heads = 1, .tokens = -4, .head_dim = 1},
        SegmentShape{.layers = std::numeric_limits<int32_t>::max(),
        .kv_heads = std::numeric_limits<int32_t>::max(),
        .tokens = std::numeric_limits<int32_t>::max(),
        .head_dim = 1}})
    EXPECT_THROW(SegmentBuffer{shape}, ShapeError) << text_of(shape);
}

}  // namespace
}  // namespace reprise::kv
