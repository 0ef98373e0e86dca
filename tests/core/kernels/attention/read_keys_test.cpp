#include "core/kernels/attention/read_keys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/core/kernels/attention/attention_cases.h"

namespace reprise::kernels {
namespace {

using testing::add_row;
using testing::add_segment;
using testing::RandomCache;

struct Expected {
  int64_t bytes = 0;
  uint32_t checksum = 0;
};

// Sums up token by token, straight from the plan: each item's keys and values once. A row of a head
// consists of whole words.
Expected read_plainly(const kv::AttentionPlan& plan, int64_t layer) {
  Expected all;
  for (const kv::WorkItem& item : plan.items) {
    const kv::Segment& segment = plan.segment_of(item);
    const kv::CacheView& cache = plan.cache_of(segment);
    const auto row_bytes = static_cast<size_t>(cache.head_dim) * size_of(cache.dtype);
    for (int32_t token = 0; token < segment.tokens; ++token)
      for (int64_t head = 0; head < cache.kv_heads; ++head)
        for (const void* data : {cache.keys, cache.values}) {
          const int32_t at = segment.skipped + token;
          const int64_t block = plan.block_offsets[static_cast<size_t>(segment.first_block +
                                                                       at / segment.block_tokens)];
          const int64_t element = block + layer * cache.layer_stride + head * cache.head_stride +
                                  at % segment.block_tokens * cache.head_dim;
          const char* row =
              static_cast<const char*>(data) + static_cast<size_t>(element) * size_of(cache.dtype);
          for (size_t byte = 0; byte + 4 <= row_bytes; byte += 4) {
            uint32_t word;
            std::memcpy(&word, row + byte, sizeof word);
            all.checksum += word;
          }
          all.bytes += static_cast<int64_t>(row_bytes);
        }
  }
  return all;
}

ReadKeys read(const kv::AttentionPlan& plan, int64_t layer, int64_t heads,
              const AttentionParams& params, int threads) {
  const Context context{.threads = threads, .isa = best_isa()};
  AttentionSchedule schedule;
  schedule.build(plan, heads, params, context);
  return read_keys({.plan = plan, .schedule = schedule, .params = params}, layer, context);
}

// Returns a plan with a segment that all rows read and a private segment for each row. The shared
// segment may skip tokens at the beginning of its first block.
kv::AttentionPlan random_plan(const RandomCache& cache, std::mt19937_64& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return static_cast<int32_t>(std::uniform_int_distribution<int64_t>(low, high)(random));
  };
  const auto any_block = [&] { return draw(0, cache.blocks - 1); };
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  const int32_t rows = draw(1, 70);
  const int32_t shared = add_segment(plan, cache, draw(1, 500), 0, any_block);
  plan.segments[0].skipped =
      draw(0, static_cast<int64_t>(plan.segments[0].tokens - 1) % cache.block_tokens);
  plan.segments[0].tokens -= plan.segments[0].skipped;
  plan.items.push_back({.segment = shared, .first_row = 0, .end_row = rows});
  for (int32_t row = 0; row < rows; ++row) {
    add_row(plan, 1000);
    const int32_t own = add_segment(plan, cache, draw(1, 300), 500, any_block);
    plan.items.push_back({.segment = own, .first_row = row, .end_row = row + 1});
  }
  plan.finish();
  return plan;
}

TEST(ReadKeys, ReadsWhatThePlanNames) {
  std::mt19937_64 random(3);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const int64_t kv_heads : {1, 3, 8})
      for (const int64_t block_tokens : {1, 7, 16, 64, 200}) {
        const RandomCache cache(dtype, 40, 2, kv_heads, block_tokens, 34, 5);
        const kv::AttentionPlan plan = random_plan(cache, random);
        for (const int64_t layer : {0, 1}) {
          const Expected expected = read_plainly(plan, layer);
          for (const int threads : {1, 2, 3}) {
            const ReadKeys found = read(plan, layer, 2 * kv_heads, {}, threads);
            EXPECT_EQ(found.bytes, expected.bytes) << block_tokens;
            EXPECT_EQ(found.checksum, expected.checksum) << block_tokens;
          }
        }
      }
}

// One long item is split into parts along its keys, and none of them is left out or read twice.
TEST(ReadKeys, ReadsEachPartOfASplitItemOnce) {
  const RandomCache cache(DType::kBF16, 100, 1, 1, 64, 64, 7);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 6000, 3);
  const Expected expected = read_plainly(plan, 0);
  const ReadKeys found = read(plan, 0, 4, {}, 2);
  EXPECT_EQ(found.bytes, expected.bytes);
  EXPECT_EQ(found.checksum, expected.checksum);
}

// With ALiBi each query head is a unit of its own; units that share a kv head share its read.
TEST(ReadKeys, ReadsAKvHeadOnceForAllItsQueryHeads) {
  const RandomCache cache(DType::kF32, 10, 1, 2, 16, 8, 9);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 100, 1);
  const std::vector<float> slopes(6, 0.5f);
  const ReadKeys found = read(plan, 0, 6, {.alibi = {.slopes = slopes}}, 2);
  const Expected expected = read_plainly(plan, 0);
  EXPECT_EQ(found.bytes, expected.bytes);
  EXPECT_EQ(found.checksum, expected.checksum);
}

// The kernels widen rows that are no whole vectors (of words, in bf16 without the dot product).
TEST(ReadKeys, SeveralUnitsAreReadTogetherWhereTheKernelReadsRowsInPlace) {
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    EXPECT_TRUE(reads_in_place(DType::kF32, 128, isa));
    EXPECT_TRUE(reads_in_place(DType::kBF16, 128, isa));
    EXPECT_FALSE(reads_in_place(DType::kBF16, 33, isa));
  }
  EXPECT_TRUE(reads_in_place(DType::kF32, 20, Isa::kPortable));
  EXPECT_FALSE(reads_in_place(DType::kF32, 20, Isa::kAvx2));
  EXPECT_FALSE(reads_in_place(DType::kBF16, 20, Isa::kAvx2));
  EXPECT_TRUE(reads_in_place(DType::kBF16, 80, Isa::kAvx2));
  EXPECT_FALSE(reads_in_place(DType::kBF16, 80, Isa::kAvx512));
  EXPECT_TRUE(reads_in_place(DType::kBF16, 80, Isa::kAvx512Bf16));
}

TEST(ReadKeys, CountsTheBytesOfRowsThatAreNoWholeWords) {
  const RandomCache cache(DType::kBF16, 10, 1, 2, 16, 33, 9);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 100, 1);
  EXPECT_EQ(read(plan, 0, 2, {}, 1).bytes, 2 * 2 * 101 * 33 * 2);
}

}  // namespace
}  // namespace reprise::kernels
