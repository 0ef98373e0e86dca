#include "core/kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::kv {
namespace {

BlockPoolOptions small() {
  return {.layers = 2,
          .kv_heads = 3,
          .head_dim = 4,
          .dtype = DType::kBF16,
          .block_tokens = 5,
          .num_blocks = 6};
}

TEST(BlockPool, TakesEachBlockOnceUntilNoneIsLeft) {
  BlockPool pool(small());
  std::set<int32_t> taken;
  for (int i = 0; i < 6; ++i) taken.insert(pool.take());
  EXPECT_EQ(taken, (std::set<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(pool.take(), -1);
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_EQ(pool.used_blocks(), 6);
  pool.release(3);
  EXPECT_EQ(pool.take(), 3);
}

// Keys alone would fit, and so would values.
TEST(BlockPool, KeysAndValuesTogetherMustFitIntoMemory) {
  BlockPoolOptions options = small();
  const int64_t wanted = available_bytes() / 2 * 3;
  options.head_dim = 4096;
  options.num_blocks = static_cast<int32_t>(wanted / block_bytes(options));
  EXPECT_THROW(BlockPool pool(options), MemoryError);
}

TEST(BlockPool, SharedBlocksAreFreedByTheirLastUser) {
  BlockPool pool(small());
  const int32_t block = pool.take();
  pool.retain(block);
  pool.retain(block);
  EXPECT_EQ(pool.users(block), 3);
  pool.release(block);
  pool.release(block);
  EXPECT_EQ(pool.used_blocks(), 1);
  pool.release(block);
  EXPECT_EQ(pool.used_blocks(), 0);
  EXPECT_EQ(pool.users(block), 0);
}

TEST(BlockPool, BooksStayEvenUnderRandomUse) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    BlockPool pool(small());
    std::vector<int32_t> held;  // one entry for each use of a block
    int32_t peak = 0;
    for (int step = 0; step < 2000; ++step) {
      const auto choice = random() % 3;
      if (choice == 0) {
        const int32_t block = pool.take();
        if (block >= 0) held.push_back(block);
      } else if (!held.empty()) {
        const size_t at = random() % held.size();
        if (choice == 1 && held.size() < 50) {
          pool.retain(held[at]);
          held.push_back(held[at]);
        } else {
          pool.release(held[at]);
          held.erase(held.begin() + static_cast<int64_t>(at));
        }
      }
      const auto distinct = static_cast<int32_t>(std::set(held.begin(), held.end()).size());
      peak = std::max(peak, distinct);
      ASSERT_EQ(pool.used_blocks(), distinct);
      ASSERT_EQ(pool.free_blocks() + pool.used_blocks(), 6);
      ASSERT_EQ(pool.peak_used_blocks(), peak);
      for (int32_t block = 0; block < 6; ++block)
        ASSERT_EQ(pool.users(block), std::count(held.begin(), held.end(), block));
    }
    for (int32_t block : held) pool.release(block);
    EXPECT_EQ(pool.used_blocks(), 0);
    EXPECT_EQ(pool.used_bytes(), 0);
  }
}

TEST(BlockPool, BytesAndOffsetsFollowTheLayout) {
  BlockPool pool(small());
  EXPECT_EQ(pool.block_bytes(),
            2 * 2 * 3 * 4 * 5 * 2);  // k and v, layers, heads, dim, tokens, bf16
  const CacheView view = pool.view();
  EXPECT_EQ(view.head_stride, 5 * 4);
  EXPECT_EQ(view.layer_stride, 3 * 5 * 4);
  EXPECT_EQ(pool.offset_of(0), 0);
  EXPECT_EQ(pool.offset_of(2), 2 * 2 * 3 * 5 * 4);
  EXPECT_EQ(pool.offset_of(2, 3), 2 * 2 * 3 * 5 * 4 + 3 * 4);
  (void)pool.take();
  EXPECT_EQ(pool.used_bytes(), pool.block_bytes());
  EXPECT_EQ(pool.peak_bytes(), pool.block_bytes());
}

// The blocks would take terabytes, but without memory the pool only counts them.
TEST(BlockPool, WithoutMemoryBlocksAreCountedAllTheSame) {
  BlockPool pool({.layers = 100,
                  .kv_heads = 100,
                  .head_dim = 128,
                  .block_tokens = 64,
                  .num_blocks = 10'000,
                  .has_memory = false});
  EXPECT_EQ(pool.block_bytes(), int64_t{2} * 100 * 100 * 128 * 64 * 4);
  EXPECT_EQ(pool.view().keys, nullptr);
  EXPECT_EQ(pool.view().values, nullptr);
  const int32_t block = pool.take();
  EXPECT_EQ(pool.offset_of(block, 3), int64_t{block} * 100 * 100 * 128 * 64 + 3 * 128);
  EXPECT_EQ(pool.used_bytes(), pool.block_bytes());
  pool.release(block);
  EXPECT_EQ(pool.used_blocks(), 0);
}

// Sizes that do not fit are refused with the bytes needed and available. Sizes whose product
// exceeds 2^64 must not wrap to few bytes.
TEST(BlockPool, AbsurdSizesAreRefusedWithNeedAndHave) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  for (const BlockPoolOptions& options :
       {BlockPoolOptions{80, 8, 128, DType::kF32, 4096, 1 << 20},
        BlockPoolOptions{80, 8, 128, DType::kF32, kMost, kMost},
        BlockPoolOptions{64, 64, 256, DType::kF32, 1 << 30, 1 << 30},
        BlockPoolOptions{int64_t{1} << 40, 1 << 20, 256, DType::kF32, 16, 16}}) {
    try {
      BlockPool pool(options);
      FAIL() << "granted";
    } catch (const MemoryError& error) {  // a run of many points skips such a point
      const std::string text = error.what();
      EXPECT_GT(error.need_bytes(), 0x1p40);
      EXPECT_NE(text.find("the KV cache needs"), std::string::npos) << text;
      EXPECT_NE(text.find("are available"), std::string::npos) << text;
    }
  }
}

TEST(BlockPoolDeathTest, ReleasingOrRetainingAFreeBlockStops) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  BlockPool pool(small());
  EXPECT_DEATH(pool.release(0), "block 0 is free already");
  EXPECT_DEATH(pool.retain(1), "block 1 is free");
}

}  // namespace
}  // namespace reprise::kv
