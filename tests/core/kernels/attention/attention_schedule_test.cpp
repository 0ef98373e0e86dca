#include "core/kernels/attention/attention_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/cpu/attention_task.h"
#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/attention/explained.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::RandomCache;

constexpr DType kAllDtypes[] = {DType::kF32, DType::kBF16, DType::kF16};
static_assert(std::is_trivially_copyable_v<SchedulePart> &&
              std::is_trivially_copyable_v<ScheduleTask>);

AttentionParams plain(int64_t head_dim) {
  return {.scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

AttentionSchedule scheduled(const kv::AttentionPlan& plan, int64_t heads,
                            const AttentionParams& params, int threads = 2) {
  AttentionSchedule schedule;
  schedule.build(plan, heads, params, {.threads = threads, .isa = best_isa()});
  return schedule;
}

bool is_split(const AttentionSchedule& schedule) {
  return schedule.parts.size() + 1 > schedule.part_begin.size();
}

auto numbers(const AttentionSchedule& s) {
  std::vector<std::vector<int64_t>> all = {{s.heads, s.units, s.group, s.entries}};
  for (const SchedulePart& p : s.parts)
    all.push_back({p.item, p.first_key, p.end_key, p.is_alone, p.first_entry});
  for (const ScheduleTask& t : s.tasks)
    all.push_back({t.part, t.first_unit, t.units, t.first_lane, t.lanes});
  all.emplace_back(s.part_begin.begin(), s.part_begin.end());
  all.emplace_back(s.merged_rows.begin(), s.merged_rows.end());
  all.emplace_back(s.merge_begin.begin(), s.merge_begin.end());
  all.push_back(s.merge_entries);
  return all;
}

// A plan of `rows` rows with a segment for each entry of `tokens`, its number of tokens. If
// `is_private`, an equal share of the rows reads each segment; otherwise all rows read every
// segment.
kv::AttentionPlan plan_of(const RandomCache& cache, const std::vector<int32_t>& tokens,
                          int32_t rows, bool is_private) {
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, 20000);
  const auto count = static_cast<int32_t>(tokens.size());
  for (int32_t i = 0; i < count; ++i) {
    const int32_t id = testing::add_segment(plan, cache, tokens[static_cast<size_t>(i)], 0,
                                            [] { return int64_t{0}; });
    plan.add_item({.segment = id,
                   .first_row = is_private ? i * rows / count : 0,
                   .end_row = is_private ? (i + 1) * rows / count : rows});
  }
  plan.finish();
  return plan;
}

std::vector<float> run(const kv::AttentionPlan& plan, const AttentionSchedule& schedule,
                       int64_t layer, const QueryView& q, const AttentionParams& params,
                       const Context& context) {
  std::vector<float> out(static_cast<size_t>(plan.rows() * q.heads * plan.head_dim()), 55.0f);
  AttentionWorkspace workspace;
  attention({.plan = plan, .schedule = schedule, .params = params}, layer, q, {.data = out.data()},
            workspace, context);
  return out;
}

// ---- what is split ----

TEST(AttentionSchedule, PlansOfEnoughTasksAreNotSplit) {
  // Private decode of many sequences, long or short: nothing is split, and nothing is merged.
  for (const auto& [batch, kv_heads, tokens] :
       {std::tuple{32, 1, 8192}, {8, 4, 5000}, {1, 32, 8192}, {33, 1, 3000}, {2, 16, 4096}}) {
    const RandomCache cache(DType::kF32, 1, 1, kv_heads, tokens, 8, 1);
    const kv::AttentionPlan plan =
        plan_of(cache, std::vector<int32_t>(static_cast<size_t>(batch), tokens), batch, true);
    const AttentionSchedule schedule = scheduled(plan, 2 * kv_heads, plain(8));
    EXPECT_EQ(schedule.parts.size(), static_cast<size_t>(batch));
    EXPECT_TRUE(schedule.merged_rows.empty());
    EXPECT_EQ(schedule.entries, 0);
    for (const SchedulePart& part : schedule.parts) EXPECT_TRUE(part.is_alone);
  }
  // Many rows make enough tiles.
  const RandomCache cache(DType::kF32, 1, 1, 1, 4096, 8, 1);
  EXPECT_FALSE(is_split(scheduled(testing::causal_plan(cache, 0, 4096), 1, plain(8))));
}

TEST(AttentionSchedule, ASharedNodeOfOneHeadIsSplitAlongItsKeys) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 8192, 8, 1);
  const kv::AttentionPlan plan = plan_of(cache, {8192}, 8, false);
  const AttentionSchedule schedule = scheduled(plan, 1, plain(8));
  EXPECT_EQ(schedule.parts.size(), 8u);
  EXPECT_EQ(schedule.tasks.size(), 8u);
  EXPECT_EQ(schedule.merged_rows.size(), 8u);
  EXPECT_EQ(schedule.entries, 8 * 8);
}

TEST(AttentionSchedule, OneLongSequenceAmongShortOnesIsSplitAlone) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 16384, 8, 1);
  const kv::AttentionPlan plan = plan_of(cache, {300, 16384, 200, 1000}, 4, true);
  const AttentionSchedule schedule = scheduled(plan, 1, plain(8));
  EXPECT_EQ(schedule.part_begin, (std::vector<int32_t>{0, 1, 17, 18, 19}));
  EXPECT_EQ(schedule.merged_rows, std::vector<int32_t>{1});
}

// Short items are not split, however few there are, because it would cost more than it saves.
TEST(AttentionSchedule, ShortItemsAreNotSplit) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 2047, 8, 1);
  EXPECT_FALSE(is_split(scheduled(plan_of(cache, {2047}, 1, true), 1, plain(8))));
}

// Only the keys inside the window count.
TEST(AttentionSchedule, KeysOutsideTheWindowAreNoReasonToSplit) {
  const RandomCache cache(DType::kF32, 1, 1, 1, 8192, 8, 1);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 8191, 1);
  AttentionParams params = plain(8);
  EXPECT_TRUE(is_split(scheduled(plan, 1, params)));
  params.window = 2000;
  EXPECT_FALSE(is_split(scheduled(plan, 1, params)));
  params.window = 4096;
  const AttentionSchedule schedule = scheduled(plan, 1, params);
  ASSERT_EQ(schedule.parts.size(), 4u);
  EXPECT_GT(schedule.parts[0].end_key, 4096) << "each part has keys to see";
}

// ---- properties of any schedule ----

kv::AttentionPlan random_plan(const RandomCache& cache, std::mt19937_64& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  const int rows = pick(1, 12);
  for (int row = 0; row < rows; ++row) testing::add_row(plan, 6000 + row);
  for (int items = pick(1, 4); items > 0; --items) {
    const int32_t id =
        testing::add_segment(plan, cache, pick(0, 3) == 0 ? pick(0, 200) : pick(1500, 6000),
                             pick(0, 50), [&] { return pick(0, 7); });
    kv::Segment& segment = plan.segments.back();
    if (pick(0, 1) == 0) {
      segment.skipped = pick(0, std::min(segment.tokens, 300));
      segment.tokens -= segment.skipped;
    }
    const int first = pick(0, rows - 1), end = pick(first + 1, rows);
    const bool causal = pick(0, 2) == 0;
    plan.add_item({.segment = id,
                   .first_row = first,
                   .end_row = end,
                   .mask = causal ? kv::Mask::kCausal : kv::Mask::kNone,
                   .visible = causal ? pick(-2, 6000) : 0});
  }
  plan.finish();
  return plan;
}

TEST(AttentionSchedule, TasksCoverEveryKeyLaneAndUnitOnce) {
  int splits = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int64_t kv_heads = 1 + static_cast<int64_t>(seed % 3),
                  group = 1 + static_cast<int64_t>(seed % 20);
    const RandomCache cache(DType::kF32, 8, 1, kv_heads, seed % 2 == 0 ? 16 : 6300, 1, seed);
    const kv::AttentionPlan plan = random_plan(cache, random);
    AttentionParams params = plain(1);
    const std::vector<float> slopes(static_cast<size_t>(kv_heads * group), 0.5f);
    if (seed % 5 == 0) params.alibi.slopes = slopes;
    if (seed % 3 == 0) params.window = 4000;
    const AttentionSchedule schedule =
        scheduled(plan, kv_heads * group, params, 1 + static_cast<int>(seed % 8));
    splits += is_split(schedule);

    ASSERT_EQ(schedule.part_begin.size(), plan.items.size() + 1);
    int64_t entries = 0;
    for (size_t i = 0; i < plan.items.size(); ++i) {
      const kv::Segment& segment = plan.segment_of(plan.items[i]);
      const auto begin = static_cast<size_t>(schedule.part_begin[i]);
      const auto end = static_cast<size_t>(schedule.part_begin[i + 1]);
      ASSERT_LT(begin, end);
      EXPECT_EQ(schedule.parts[begin].first_key, 0);
      EXPECT_EQ(schedule.parts[end - 1].end_key, segment.tokens);
      for (size_t part = begin; part < end; ++part) {
        const SchedulePart& p = schedule.parts[part];
        EXPECT_EQ(p.item, static_cast<int32_t>(i));
        if (part > begin) {
          EXPECT_EQ(p.first_key, schedule.parts[part - 1].end_key);
          EXPECT_EQ((segment.skipped + p.first_key) % cpu::kKeyTile, 0);
          EXPECT_LT(p.first_key, p.end_key);
          EXPECT_FALSE(p.is_alone);
        }
        if (p.is_alone) continue;
        EXPECT_EQ(p.first_entry, entries) << "results of parts do not overlap";
        entries += (plan.items[i].end_row - plan.items[i].first_row) * schedule.heads;
      }
    }
    EXPECT_EQ(schedule.entries, entries);

    std::map<std::array<int32_t, 3>, int> computed;  // part, unit, lane
    for (const ScheduleTask& task : schedule.tasks) {
      EXPECT_LE(task.units * task.lanes, cpu::kTaskLanes);
      for (int32_t unit = 0; unit < task.units; ++unit)
        for (int32_t lane = 0; lane < task.lanes; ++lane)
          ++computed[{task.part, task.first_unit + unit, task.first_lane + lane}];
    }
    size_t want = 0;
    for (const SchedulePart& part : schedule.parts) {
      const kv::WorkItem& item = plan.items[static_cast<size_t>(part.item)];
      want += static_cast<size_t>((item.end_row - item.first_row) * schedule.heads);
    }
    EXPECT_EQ(computed.size(), want);
    for (const auto& [at, times] : computed) ASSERT_EQ(times, 1);
  }
  EXPECT_GT(splits, 50);
}

// Parts, and with them all roundings, depend on the plan alone.
TEST(AttentionSchedule, PartsDoNotDependOnTheNumberOfThreads) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const RandomCache cache(DType::kF32, 8, 1, 2, 16, 1, seed);
    const kv::AttentionPlan plan = random_plan(cache, random);
    AttentionSchedule one = scheduled(plan, 6, plain(1), 1);
    for (int threads : {2, 5, 64}) {
      AttentionSchedule more = scheduled(plan, 6, plain(1), threads);
      one.tasks.clear();
      more.tasks.clear();
      EXPECT_EQ(numbers(one), numbers(more)) << "seed " << seed << " threads " << threads;
    }
  }
}

TEST(AttentionSchedule, BuildingAgainForgetsWhatWasThere) {
  std::mt19937_64 random(3);
  const RandomCache cache(DType::kF32, 8, 1, 2, 16, 1, 3);
  AttentionSchedule reused;
  for (int i = 0; i < 30; ++i) {
    const kv::AttentionPlan plan = random_plan(cache, random);
    reused.build(plan, 4, plain(1), {.threads = 2, .isa = best_isa()});
    EXPECT_EQ(numbers(reused), numbers(scheduled(plan, 4, plain(1))));
  }
}

// ---- what split parts compute ----

struct Shape {
  int64_t heads, kv_heads, head_dim;
};

// Compares a plan that the schedule must split with the definition, for every instruction set.
void check_split(const kv::AttentionPlan& plan, const Shape& shape, const AttentionParams& params,
                 const std::string& what) {
  ASSERT_TRUE(is_split(scheduled(plan, shape.heads, params))) << what;
  const int64_t stride = shape.heads * shape.head_dim;
  const std::vector<float> q = testing::random_queries(plan.rows() * stride, 7);
  const QueryView view{.data = q.data(), .row_stride = stride, .heads = shape.heads};
  const auto want = reference::attention_with_errors(plan, 0, view, params);
  for (Isa isa : available_isas()) {
    const Context context{.threads = 2, .isa = isa};
    AttentionSchedule schedule;
    schedule.build(plan, shape.heads, params, context);
    const std::vector<float> got = run(plan, schedule, 0, view, params, context);
    testing::expect_explained(
        got, want, testing::cpu_rounding(plan, isa),
        what + " " + std::string(name_of(isa)) + " " + std::string(name_of(plan.caches[0].dtype)));
  }
}

TEST(AttentionSplit, CausalRowsMatchTheReference) {
  for (DType dtype : kAllDtypes)
    for (const Shape& shape : {Shape{1, 1, 16}, Shape{2, 1, 33}, Shape{6, 2, 24}})
      for (const auto& [past, rows] : {std::pair{4999, 1}, {4200, 7}, {5000, 40}}) {
        const RandomCache cache(dtype, 1, 1, shape.kv_heads, past + rows, shape.head_dim, 3);
        check_split(testing::causal_plan(cache, past, rows), shape, plain(shape.head_dim),
                    "past " + std::to_string(past) + " rows " + std::to_string(rows));
      }
}

// The rows' causal masks end inside parts, at the beginning of a part, or next to it.
TEST(AttentionSplit, PartsThatSomeRowsDoNotSeeChangeNothing) {
  for (DType dtype : kAllDtypes)
    for (int32_t visible : {-1, 1, 1023, 1024, 1025, 2048, 4096}) {
      const RandomCache cache(dtype, 1, 1, 1, 8192, 8, 5);
      kv::AttentionPlan plan;
      plan.begin(cache.view);
      for (int32_t row = 0; row < 5; ++row) testing::add_row(plan, 8192);
      const int32_t id = testing::add_segment(plan, cache, 8192, 0, [] { return int64_t{0}; });
      // One item shows `visible` keys to row 0 and a few more to rows 1 and 2. The other shows all
      // keys to rows 3 and 4.
      plan.add_item({.segment = id,
                     .first_row = 0,
                     .end_row = 3,
                     .mask = kv::Mask::kCausal,
                     .visible = visible});
      plan.add_item({.segment = id, .first_row = 3, .end_row = 5});
      plan.finish();
      check_split(plan, {1, 1, 8}, plain(8), "visible " + std::to_string(visible));
    }
}

TEST(AttentionSplit, WindowsMatchTheReference) {
  for (DType dtype : kAllDtypes)
    for (int64_t window : {2049, 3000, 5001}) {
      const RandomCache cache(dtype, 1, 1, 1, 5009, 16, 7);
      AttentionParams params = plain(16);
      params.window = window;
      check_split(testing::causal_plan(cache, 5001, 8), {1, 1, 16}, params,
                  "window " + std::to_string(window));
    }
}

TEST(AttentionSplit, AlibiMatchesTheReference) {
  const std::vector<float> slopes = {0.5f, 0.01f, 0.001f, 0.0001f};
  for (DType dtype : kAllDtypes)
    for (bool rounded : {false, true})
      for (int32_t rows : {1, 6, 30}) {
        const RandomCache cache(dtype, 1, 1, 2, 4500, 16, 13);
        AttentionParams params = plain(16);
        params.alibi = {.slopes = slopes, .rounded_to_bf16 = rounded, .factor = params.scale};
        check_split(testing::causal_plan(cache, 4500 - rows, rows), {4, 2, 16}, params,
                    std::string("alibi rounded ") + (rounded ? "yes" : "no"));
      }
}

// The random plans have blocks of any size, whole or partial groups of rows, segments with or
// without skipped first tokens, and empty or short items.
TEST(AttentionSplit, RandomPlansMatchTheReference) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int64_t kv_heads = 1 + static_cast<int64_t>(seed % 2),
                  group = 1 + static_cast<int64_t>(seed % 10);
    const int64_t blocks[] = {16, 7, 64, 6300, 133};
    const RandomCache cache(kAllDtypes[seed % 3], 8, 1, kv_heads, blocks[seed % 5], 8, seed);
    const kv::AttentionPlan plan = random_plan(cache, random);
    AttentionParams params = plain(8);
    if (seed % 4 == 0) params.window = 5000;
    if (!is_split(scheduled(plan, kv_heads * group, params))) continue;
    ++checked;
    check_split(plan, {kv_heads * group, kv_heads, 8}, params, "random plan");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked, 20);
}

TEST(AttentionSplit, ResultDoesNotDependOnTheNumberOfThreads) {
  for (DType dtype : kAllDtypes)
    for (const auto& [heads, kv_heads, rows] : {std::tuple{1, 1, 8}, {4, 4, 1}, {8, 2, 20}}) {
      const RandomCache cache(dtype, 400, 1, kv_heads, 16, 32, 3);
      const kv::AttentionPlan plan = testing::causal_plan(cache, 6000, rows);
      ASSERT_TRUE(is_split(scheduled(plan, heads, plain(32))));
      const std::vector<float> q = testing::random_queries(rows * heads * 32, 5);
      const QueryView view{.data = q.data(), .row_stride = heads * 32, .heads = heads};
      for (Isa isa : available_isas()) {
        const auto with = [&](int threads) {
          const Context context{.threads = threads, .isa = isa};
          AttentionSchedule schedule;
          schedule.build(plan, heads, plain(32), context);
          return run(plan, schedule, 0, view, plain(32), context);
        };
        const std::vector<float> one = with(1);
        for (int threads : {2, 3, 7}) EXPECT_EQ(with(threads), one) << name_of(isa);
      }
    }
}

// One schedule serves all layers: each layer gets the same result as with a schedule of its own.
TEST(AttentionSplit, OneScheduleServesEveryLayer) {
  const RandomCache cache(DType::kF32, 2, 3, 2, 4500, 16, 3);
  const kv::AttentionPlan plan = plan_of(cache, {4500, 70}, 3, false);
  const AttentionParams params = plain(16);
  const Context context{.threads = 2, .isa = best_isa()};
  const AttentionSchedule schedule = scheduled(plan, 4, params);
  AttentionWorkspace shared;
  std::vector<std::vector<float>> seen;
  for (int64_t layer = 0; layer < 3; ++layer) {
    const std::vector<float> q =
        testing::random_queries(3 * 4 * 16, 20 + static_cast<uint64_t>(layer));
    const QueryView view{.data = q.data(), .row_stride = 4 * 16, .heads = 4};
    std::vector<float> got(3 * 4 * 16), alone(3 * 4 * 16);
    attention({.plan = plan, .schedule = schedule, .params = params}, layer, view,
              {.data = got.data()}, shared, context);
    AttentionWorkspace fresh;
    attention(plan, layer, view, params, {.data = alone.data()}, fresh, context);
    EXPECT_EQ(got, alone) << "layer " << layer;
    const std::vector<double> want = reference::attention(plan, layer, view, params);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), want[i], 0x1p-16);
  }
}

// A corrupt key or query is seen in the rows that read it, whichever part it is in.
TEST(AttentionSplit, NanReachesTheRowsThatSeeIt) {
  constexpr int64_t kDim = 16;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (DType dtype : kAllDtypes)
    for (int32_t rows : {1, 4, 20})
      for (int64_t token : {0, 1030, 2048, 4095, 4499}) {
        RandomCache cache(dtype, 1, 1, 1, 4500, kDim, 3);
        const kv::AttentionPlan plan = plan_of(cache, {4500}, rows, false);
        ASSERT_TRUE(is_split(scheduled(plan, 1, plain(kDim))));
        std::vector<float> q = testing::random_queries(rows * kDim, 1);
        const QueryView view{.data = q.data(), .row_stride = kDim, .heads = 1};
        const auto attended = [&](Isa isa) {
          const Context context{.threads = 2, .isa = isa};
          AttentionSchedule schedule;
          schedule.build(plan, 1, plain(kDim), context);
          return run(plan, schedule, 0, view, plain(kDim), context);
        };
        q[3] = kNan;
        for (Isa isa : available_isas()) {
          const std::vector<float> got = attended(isa);
          for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(std::isnan(got[i]), i < kDim);
        }
        q[3] = 1.0f;
        visit_dtype(dtype, [&](auto tag) {
          using T = decltype(tag);
          std::fill_n(cache.keys.as<T>() + token * kDim, kDim, T(kNan));
        });
        for (Isa isa : available_isas())
          for (float value : attended(isa))
            ASSERT_TRUE(std::isnan(value)) << "key " << token << " " << name_of(dtype) << " "
                                           << name_of(isa) << " rows " << rows;
      }
}

TEST(AttentionSplit, PartialsOfEveryPartMergeToTheWhole) {
  const RandomCache cache(DType::kF32, 1, 1, 2, 5000, 16, 3);
  const kv::AttentionPlan plan = plan_of(cache, {5000, 30}, 3, true);
  const std::vector<float> q = testing::random_queries(3 * 4 * 16, 5);
  const QueryView view{.data = q.data(), .row_stride = 4 * 16, .heads = 4};
  AttentionWorkspace workspace;
  const Context context{.threads = 2, .isa = best_isa()};
  const AttentionParams params = plain(16);
  workspace.schedule.build(plan, 4, params, context, RowResults::kPartial);
  partial_attention({.plan = plan, .schedule = workspace.schedule, .params = params}, 0, view,
                    workspace, context);
  EXPECT_TRUE(is_split(workspace.schedule));
  for (const SchedulePart& part : workspace.schedule.parts) EXPECT_FALSE(part.is_alone);
  EXPECT_EQ(workspace.schedule.merged_rows, (std::vector<int32_t>{0, 1, 2}));
  std::vector<float> out(3 * 4 * 16);
  merge_partials(workspace.schedule, workspace.partials, {.data = out.data()}, context);
  const std::vector<double> want = reference::attention(plan, 0, view, plain(16));
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_NEAR(static_cast<double>(out[i]), want[i], 0x1p-16);
}

TEST(AttentionScheduleDeathTest, AScheduleOfAnotherStepStops) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const RandomCache cache(DType::kF32, 1, 1, 1, 16, 8, 1);
  const kv::AttentionPlan one = plan_of(cache, {16}, 2, false),
                          two = plan_of(cache, {16, 8}, 2, false);
  const AttentionSchedule schedule = scheduled(one, 2, plain(8));
  const std::vector<float> q(2 * 4 * 8);
  const Context context{.threads = 1, .isa = best_isa()};
  EXPECT_DEATH(
      run(two, schedule, 0, {.data = q.data(), .row_stride = 16, .heads = 2}, plain(8), context),
      "2 heads and 1 items, the step of 2 and 2");
  EXPECT_DEATH(
      run(one, schedule, 0, {.data = q.data(), .row_stride = 32, .heads = 4}, plain(8), context),
      "2 heads and 1 items, the step of 4 and 1");
}

}  // namespace
}  // namespace reprise::kernels
