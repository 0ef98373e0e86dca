#include "core/store/segment_buffer.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "core/kv/block_pool.h"
#include "tests/core/store/segment_testing.h"

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

// Tokens 3 to 12 of a sequence in shuffled blocks of 4, whose first three are skipped.
TEST(SegmentBuffer, GathersScatteredTokensInOrder) {
  const BlockPoolOptions options = {.layers = 2,
                                    .kv_heads = 3,
                                    .head_dim = 5,
                                    .dtype = DType::kF32,
                                    .block_tokens = 4,
                                    .num_blocks = 6};
  BlockPool pool(options);
  AttentionPlan plan;
  plan.begin(pool.view());
  const std::vector<int32_t> blocks = {4, 1, 3};
  std::vector<int64_t> offsets;
  for (const int32_t block : blocks) offsets.push_back(pool.offset_of(block));
  const int32_t segment = plan.add_segment(
      {.block_tokens = 4, .skipped = 3, .tokens = 9, .first_position = 7}, offsets);
  // Each element says where it stands: half, layer, head, token, dimension.
  const CacheView cache = plan.caches[0];
  const auto value = [](int half, int64_t layer, int64_t head, int64_t token, int64_t dim) {
    return static_cast<float>(half * 10000 + layer * 2000 + head * 500 + token * 8 + dim);
  };
  for (int64_t layer = 0; layer < options.layers; ++layer)
    for (int64_t head = 0; head < options.kv_heads; ++head)
      for (int64_t token = 0; token < 12; ++token)
        for (int64_t dim = 0; dim < options.head_dim; ++dim) {
          const int64_t at = offsets[static_cast<size_t>(token / 4)] + layer * cache.layer_stride +
                             head * cache.head_stride + token % 4 * options.head_dim + dim;
          static_cast<float*>(cache.keys)[at] = value(0, layer, head, token - 3, dim);
          static_cast<float*>(cache.values)[at] = value(1, layer, head, token - 3, dim);
        }
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const SegmentBuffer gathered = gather_segment(plan, segment, options.layers, dtype);
    ASSERT_EQ(
        gathered.shape,
        (SegmentShape{.layers = 2, .kv_heads = 3, .tokens = 9, .head_dim = 5, .dtype = dtype}));
    const CacheView view = gathered.view();
    for (int64_t layer = 0; layer < options.layers; ++layer)
      for (int64_t head = 0; head < options.kv_heads; ++head)
        for (int64_t token = 0; token < 9; ++token)
          for (int64_t dim = 0; dim < options.head_dim; ++dim) {
            const auto at = static_cast<size_t>(
                layer * view.layer_stride + head * view.head_stride + token * view.head_dim + dim);
            for (int half = 0; half < 2; ++half) {
              const void* data = half == 0 ? view.keys : view.values;
              const float expected = value(half, layer, head, token, dim);
              if (dtype == DType::kF32)
                ASSERT_EQ(static_cast<const float*>(data)[at], expected);
              else
                ASSERT_EQ(static_cast<const bf16*>(data)[at].bits, bf16(expected).bits);
            }
          }
  }
}

}  // namespace
}  // namespace reprise::kv
