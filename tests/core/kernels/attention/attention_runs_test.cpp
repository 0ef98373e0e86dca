// Tests that reading several heads together does not change what they compute.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "core/kernels/attention/cpu/attention_task.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using testing::RandomCache;

struct Case {
  DType dtype;
  int64_t kv_heads, group, block_tokens, head_dim;
  bool has_alibi, is_rounded;
  int64_t window;

  [[nodiscard]] int64_t heads() const { return kv_heads * group; }
};

Case draw_case(std::mt19937_64& random) {
  const auto one_of = [&](auto... values) {
    const int64_t all[] = {values...};
    return all[std::uniform_int_distribution<size_t>(0, sizeof...(values) - 1)(random)];
  };
  Case one{.dtype = one_of(0, 1) == 0 ? DType::kBF16 : DType::kF32,
           .kv_heads = one_of(1, 2, 3, 5, 8, 17, 33, 40),
           .group = one_of(1, 1, 1, 2, 3, 8, 9),
           .block_tokens = one_of(8, 16, 24, 32, 48, 64, 80, 128, 200, 256),
           .head_dim = one_of(16, 32, 34, 64, 80, 128, 256),
           .has_alibi = one_of(0, 0, 1) == 1,
           .is_rounded = one_of(0, 1) == 1,
           .window = one_of(0, 0, 0, 1, 77, 200)};
  // With ALiBi each query head is a unit, and those of one kv head would not follow one another.
  if (one.has_alibi) one.group = 1;
  return one;
}

// Segments that one row reads, or up to 9 rows. They end anywhere and may begin within their first
// block. The rows of a segment make at most one lane tile. Of more lanes, a rest of 8 or fewer
// could be a task of its own; it would then be computed as few lanes, which round differently.
kv::AttentionPlan draw_plan(const RandomCache& cache, int64_t group, std::mt19937_64& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return static_cast<int32_t>(std::uniform_int_distribution<int64_t>(low, high)(random));
  };
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t items = draw(1, 3); items > 0; --items) {
    const int32_t tokens = draw(1, 700);
    const int64_t most_rows = std::min<int64_t>(9, cpu::kLaneTile / group);
    const int32_t rows = draw(0, 1) == 0 ? 1 : draw(2, most_rows);
    const int32_t segment = testing::add_segment(plan, cache, tokens, draw(0, 9), [&] {
      return static_cast<int64_t>(draw(0, cache.blocks - 1));
    });
    const int64_t most = std::min<int64_t>(tokens, cache.block_tokens) - 1;
    const int32_t skipped = draw(0, 2) == 0 ? draw(0, most) : draw(0, most) / 16 * 16;
    plan.segments.back().skipped = skipped;
    plan.segments.back().tokens -= skipped;
    const auto first_row = static_cast<int32_t>(plan.row_positions.size());
    for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, tokens + 9 + row);
    const bool causal = draw(0, 3) == 0;
    plan.items.push_back({.segment = segment,
                          .first_row = first_row,
                          .end_row = first_row + rows,
                          .mask = causal ? kv::Mask::kCausal : kv::Mask::kNone,
                          .visible = causal ? draw(-1, tokens) : 0});
  }
  plan.finish();
  return plan;
}

std::vector<float> attend(const kv::AttentionPlan& plan, const std::vector<float>& q,
                          const Case& one, const AttentionParams& params, int scheduled_for,
                          Isa isa, const FetchSetting& fetch) {
  // `scheduled_for` is either so many threads that every unit is a task of its own, or 1, so that
  // one task takes all units.
  AttentionSchedule schedule;
  schedule.build(plan, one.heads(), params, {.threads = scheduled_for, .isa = isa});
  const int64_t row = one.heads() * one.head_dim;
  std::vector<float> out(q.size(), 7.0f);
  AttentionWorkspace workspace;
  attention({.plan = plan, .schedule = schedule, .params = params}, 0,
            {.data = q.data(), .row_stride = row, .heads = one.heads()}, {.data = out.data()},
            workspace, {.threads = 1, .isa = isa, .fetch_bf16 = fetch, .fetch_f32 = fetch});
  return out;
}

// Heads read alone are computed in the way that attention_test compares with the definition. The
// fetch distance is large so that AddressSanitizer would see a load beyond the cache.
TEST(AttentionRuns, HeadsReadTogetherGiveTheBitsOfHeadsReadAlone) {
  std::mt19937_64 random(11);
  const FetchSetting furthest = parse_fetch("l1:65536:65536");
  for (int round = 0; round < 120; ++round) {
    const Case one = draw_case(random);
    const RandomCache cache(one.dtype, 12, 1, one.kv_heads, one.block_tokens, one.head_dim,
                            static_cast<uint64_t>(round));
    const kv::AttentionPlan plan = draw_plan(cache, one.group, random);
    std::vector<float> slopes;
    for (int64_t head = 0; head < one.heads(); ++head)
      slopes.push_back(1.0f / static_cast<float>(head + 2));
    AttentionParams params{.scale = 0.3f, .window = one.window};
    if (one.has_alibi)
      params.alibi = {.slopes = slopes, .rounded_to_bf16 = one.is_rounded, .factor = 1.0f};
    const std::vector<float> q = testing::random_queries(plan.rows() * one.heads() * one.head_dim,
                                                         static_cast<uint64_t>(round));
    for (const Isa isa : reprise::testing::available_isas()) {
      const std::vector<float> alone = attend(plan, q, one, params, 1 << 20, isa, {});
      const std::vector<float> together = attend(plan, q, one, params, 1, isa, furthest);
      ASSERT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0)
          << "round " << round << ": " << name_of(one.dtype) << " kv heads " << one.kv_heads
          << " group " << one.group << " blocks of " << one.block_tokens << " d " << one.head_dim
          << (one.has_alibi ? " alibi" : "") << " window " << one.window << " " << name_of(isa);
    }
  }
}

cpu::AttentionTask task_of(DType dtype, int block_tokens, int units, int lanes) {
  cpu::AttentionTask task;
  task.kv_dtype = dtype;
  task.head_dim = 128;
  task.block_tokens = block_tokens;
  task.unit_bytes = static_cast<size_t>(block_tokens) * 128 * size_of(dtype);
  task.units = units;
  task.lanes = units * lanes;
  return task;
}

TEST(AttentionRuns, AsManyHeadsAreReadTogetherAsMakeALongRun) {
  EXPECT_EQ(task_of(DType::kBF16, 64, 32, 1).units_together(), 4);  // units of 16 KiB each
  EXPECT_EQ(task_of(DType::kBF16, 128, 32, 1).units_together(), 2);
  EXPECT_EQ(task_of(DType::kBF16, 256, 32, 1).units_together(), 2);  // a tile of 128 at a time
  EXPECT_EQ(task_of(DType::kF32, 64, 32, 1).units_together(), 2);
  EXPECT_EQ(task_of(DType::kF32, 128, 32, 1).units_together(), 1);
  EXPECT_EQ(task_of(DType::kBF16, 16, 32, 1).units_together(), 16);
  EXPECT_EQ(task_of(DType::kBF16, 16, 6, 8).units_together(), 6);
}

// A worker's scratch holds the scores and weights of one lane tile.
TEST(AttentionRuns, LanesThatAreReadTogetherFitALaneTile) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int block_tokens : {16, 32, 48, 64, 80, 128, 256})
      for (int head_dim : {16, 64, 80, 128, 256})
        for (int lanes = 1; lanes <= cpu::kFewLanes; ++lanes)
          for (int units = 1; units <= cpu::kTaskLanes / lanes; ++units) {
            cpu::AttentionTask task = task_of(dtype, block_tokens, units, lanes);
            task.head_dim = head_dim;
            task.unit_bytes = static_cast<size_t>(block_tokens * head_dim) * size_of(dtype);
            ASSERT_LE(task.units_together() * lanes, cpu::kLaneTile)
                << name_of(dtype) << " blocks of " << block_tokens << " d " << head_dim << " units "
                << units << " lanes " << lanes;
          }
  EXPECT_EQ(task_of(DType::kBF16, 16, 32, 4).units_together(), 16);
  EXPECT_EQ(task_of(DType::kBF16, 16, 32, 5).units_together(), 12);
  EXPECT_EQ(task_of(DType::kBF16, 16, 32, 8).units_together(), 8);
}

TEST(AttentionRuns, HeadsThatDoNotLieSideBySideAreReadAlone) {
  EXPECT_EQ(task_of(DType::kBF16, 64, 1, 1).units_together(), 1);
  EXPECT_EQ(task_of(DType::kBF16, 24, 32, 1).units_together(), 1);  // leaves a part of 8 keys
  EXPECT_EQ(task_of(DType::kBF16, 64, 4, 9).units_together(), 1);   // too many lanes
  EXPECT_EQ(task_of(DType::kF32, 64, 4, 2).units_together(), 1);    // the kernel rereads rows
  EXPECT_EQ(task_of(DType::kF16, 64, 32, 1).units_together(), 1);   // the kernel converts rows
  cpu::AttentionTask apart = task_of(DType::kBF16, 64, 32, 1);
  apart.unit_bytes *= 2;
  EXPECT_EQ(apart.units_together(), 1);
  cpu::AttentionTask begun = task_of(DType::kBF16, 64, 32, 1);
  begun.skipped = 8;
  EXPECT_EQ(begun.units_together(), 1);
}

}  // namespace
}  // namespace reprise::kernels
