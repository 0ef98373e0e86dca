// Tests the device's schedule and how its arrays are uploaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/kernels/attention/cuda/schedule.h"
#include "tests/core/kernels/attention/attention_cases.h"

namespace reprise::kernels::cuda {
namespace {

using kernels::testing::RandomCache;

// Tries 2^31 - 1, sizes around powers of two, and random sizes.
TEST(CudaStepSchedule, IndicesAreDividedExactly) {
  std::mt19937_64 random(1);
  std::vector<int32_t> sizes = {1, 2, 3, 5, 7, 15, 16, 17, 48, 255, 256, 257, 4096, 2147483647};
  for (int i = 0; i < 200; ++i) sizes.push_back(static_cast<int32_t>(random() % 100000 + 1));
  for (const int32_t size : sizes) {
    const Divisor divisor = Divisor::of(size);
    const auto expect_exact = [&](uint32_t index) {
      const auto high = static_cast<uint32_t>(uint64_t{index} * divisor.multiplier >> 32);
      ASSERT_EQ((high + index) >> divisor.shift, index / static_cast<uint32_t>(size))
          << index << " / " << size;
    };
    for (const uint32_t index : {0u, 1u, 0x7ffffffeu, 0x7fffffffu}) expect_exact(index);
    for (uint64_t multiple = 1; multiple < 2000; ++multiple) {
      const uint64_t index = multiple * static_cast<uint32_t>(size);
      if (index > 0x7fffffffu) break;
      expect_exact(static_cast<uint32_t>(index) - 1);
      expect_exact(static_cast<uint32_t>(index));
    }
    for (int i = 0; i < 100; ++i) expect_exact(static_cast<uint32_t>(random() >> 33));
  }
}

// A copy of the schedule as it lies on a device that has received all changes.
class Mirror {
 public:
  size_t copy(UploadImage::Changes changes) {
    if (changes.needed_bytes > bytes_.size() || changes.has_moved)
      bytes_.assign(changes.needed_bytes, std::byte{0xee});
    size_t copied = 0;
    for (const UploadImage::Copy& copy : changes.copies) {
      EXPECT_LE(copy.offset + copy.bytes.size(), bytes_.size());
      std::copy(copy.bytes.begin(), copy.bytes.end(),
                bytes_.begin() + static_cast<std::ptrdiff_t>(copy.offset));
      copied += copy.bytes.size();
    }
    return copied;
  }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> random_bytes(size_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 3);
  return bytes;
}

TEST(UploadImage, ADeviceThatCopiesTheChangesHasWhatWasSet) {
  std::mt19937_64 random(1);
  UploadImage image(3);
  Mirror mirror;
  std::vector<std::vector<std::byte>> now(3);
  for (int step = 0; step < 500; ++step) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (random() % 2 == 0) continue;
      if (random() % 4 == 0) now[i] = random_bytes(random() % 700, random);
      if (random() % 2 == 0 && !now[i].empty()) now[i][random() % now[i].size()] = std::byte{7};
      if (random() % 3 == 0) now[i].resize(now[i].size() + random() % 20, std::byte{9});
      image.set(i, std::span<const std::byte>(now[i]));
    }
    if (random() % 3 == 0) continue;  // several sets before a copy
    mirror.copy(image.changes());
    for (size_t i = 0; i < now.size(); ++i)
      ASSERT_TRUE(std::equal(now[i].begin(), now[i].end(), mirror.data() + image.offset(i)))
          << "section " << i << " step " << step;
  }
}

TEST(UploadImage, OnlyWhatDiffersIsCopied) {
  UploadImage image(2);
  Mirror mirror;
  std::vector<int32_t> values(1000, 5);
  const auto copied = [&] {
    image.set(0, std::span<const int32_t>(values));
    return mirror.copy(image.changes());
  };
  EXPECT_EQ(copied(), 4000u);
  EXPECT_EQ(copied(), 0u);
  values[17] = 6;
  EXPECT_EQ(copied(), 1u) << "the low byte of one number";
  values.push_back(1);
  values.push_back(2);
  EXPECT_EQ(copied(), 8u) << "appended in place";
  values.resize(900);
  EXPECT_EQ(copied(), 0u);
  values.resize(5000, 3);
  EXPECT_EQ(copied(), 20000u) << "outgrown: all of it, somewhere else";
}

// Every (row, head, key) that the plan shows belongs to exactly one task, and no two parts share
// partial results.
TEST(StepSchedule, TasksCoverEveryKeyAndLaneOnce) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int64_t group = pick(1, 9);
    std::vector<RandomCache> caches;
    caches.emplace_back(DType::kBF16, 16, 1, 1, pick(1, 90), 32, seed);
    caches.emplace_back(DType::kF16, 16, 1, 1, pick(1, 90), 32, seed);
    const kv::AttentionPlan plan = kernels::testing::random_plan_over(caches, pick);
    AttentionParams params;
    if (seed % 3 == 0) params.window = pick(1, 500);
    TileOverride wanted{.parts = pick(0, 4)};
    if (seed % 2 == 0) wanted.shape = pick(0, 3);
    StepSchedule schedule;
    schedule.build(plan, group, params, seed % 2 == 0 ? kA100 : kH100, RowResults::kFinished,
                   wanted);

    // [row][segment, key] how often a task of the row has this key, over all heads of the row.
    std::vector<std::map<std::pair<const kv::Segment*, int32_t>, int64_t>> seen(
        static_cast<size_t>(plan.rows()));
    std::map<int64_t, int64_t> entries;
    for (const TileLaunch& launch : schedule.launches)
      for (int32_t i = launch.first_task; i < launch.end_task; ++i) {
        const AttentionTask& task = schedule.tasks[static_cast<size_t>(i)];
        ASSERT_LE(task.lanes, kTileShapes[static_cast<size_t>(launch.shape)].lanes);
        ASSERT_EQ(plan.caches[static_cast<size_t>(task.cache)].dtype, launch.dtype);
        const kv::Segment* segment = nullptr;
        for (const kv::Segment& one : plan.segments)
          if (one.first_block == task.first_block && one.tokens > 0) segment = &one;
        for (int32_t lane = task.first_lane; lane < task.first_lane + task.lanes; ++lane) {
          const auto r = static_cast<int32_t>(lane / group);
          const auto row = static_cast<size_t>(task.first_row + r);
          if (task.first_merged != AttentionTask::kAlone) {
            ++entries[task.first_entry + r * group + lane % group];
            ASSERT_EQ(schedule.cut.merged_rows[static_cast<size_t>(task.first_merged + r)],
                      task.first_row + r);
          }
          const int64_t low = plan.row_positions[row] - params.window + 1 - task.first_position;
          for (int32_t key = task.first_key; key < task.end_key; ++key)
            if (key < task.visible + r && (params.window == 0 || key >= low))
              ++seen[row][{segment, key}];
        }
      }
    EXPECT_EQ(entries.size(), static_cast<size_t>(schedule.cut.entries));
    for (const auto& [entry, count] : entries) ASSERT_EQ(count, 1) << "entry " << entry;
    int64_t pairs = 0;
    for (const auto& row : seen)
      for (const auto& [key, count] : row) {
        ASSERT_EQ(count, group);
        pairs += count;
      }
    EXPECT_EQ(static_cast<double>(pairs), least_work(plan, group, params).exponentials);
  }
}

TEST(StepSchedule, LongTasksComeFirstInEachLaunch) {
  const RandomCache cache(DType::kBF16, 1, 1, 2, 1000, 64, 1);
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (const int32_t tokens : {100, 900, 5, 400}) {
    kernels::testing::add_row(plan, tokens);
    const int32_t id =
        kernels::testing::add_segment(plan, cache, tokens, 0, [] { return int64_t{0}; });
    plan.add_item({.segment = id, .first_row = id, .end_row = id + 1});
  }
  plan.finish();
  StepSchedule schedule;
  schedule.build(plan, 2, {}, kA100, RowResults::kFinished, {.parts = 1});
  ASSERT_EQ(schedule.tasks.size(), 4u);
  std::vector<int32_t> rows;
  for (const AttentionTask& task : schedule.tasks) rows.push_back(task.first_row);
  EXPECT_EQ(rows, (std::vector<int32_t>{1, 3, 0, 2}));
}

TEST(ScheduleImage, PaddedCountsAreAtMostAQuarterMore) {
  EXPECT_EQ(padded_count(0), 0);
  std::set<int32_t> counts;
  for (int32_t count = 1; count <= 4096; ++count) {
    const int32_t padded = padded_count(count);
    ASSERT_GE(padded, count);
    ASSERT_LE(4 * padded, 5 * count) << count;
    ASSERT_EQ(padded_count(padded), padded);
    counts.insert(padded);
  }
  EXPECT_EQ(counts.size(), 3u + 4 * 10 + 1);  // 1 to 3, 4 to 4095, 4096
}

// Sequences grow from 1 to 8000 tokens. The launches change some ten times, not each time that a
// sequence is cut into one more part.
TEST(ScheduleImage, LaunchesOfStepsThatGrowAreMostlyTheSame) {
  const RandomCache cache(DType::kBF16, 32, 1, 4, 64, 64, 1);
  StepSchedule schedule;
  ScheduleImage image;
  std::set<std::vector<int32_t>> cuts, launched;
  for (int32_t step = 0; step < 8000; step += 7) {
    kv::AttentionPlan plan;
    plan.begin(cache.view);
    for (int32_t row = 0; row < 7; ++row) {
      const int32_t tokens = 1 + step + 2 * row;
      kernels::testing::add_row(plan, tokens - 1);
      int64_t block = 0;
      const int32_t id =
          kernels::testing::add_segment(plan, cache, tokens, 0, [&] { return block++; });
      plan.add_item({.segment = id, .first_row = row, .end_row = row + 1});
    }
    plan.finish();
    schedule.build(plan, 4, {}, kH100);
    image.set(schedule, plan, {});
    std::vector<int32_t> cut, launch;
    for (const TileLaunch& one : schedule.launches)
      cut.insert(cut.end(), {one.shape, one.end_task - one.first_task});
    for (const TileLaunch& one : image.launches())
      launch.insert(launch.end(), {one.shape, one.end_task - one.first_task});
    const ScheduleImage::Merge merge = image.merge(nullptr);
    cut.push_back(static_cast<int32_t>(schedule.cut.merged_rows.size()));
    launch.push_back(merge.merged);
    ASSERT_GE(merge.merged, cut.back());
    cuts.insert(cut);
    launched.insert(launch);
  }
  EXPECT_GT(cuts.size(), launched.size());
  EXPECT_LE(launched.size(), 40u);
}

// From one decode step to the next, the numbers of tokens change, but the blocks do not.
TEST(ScheduleImage, AStepThatAddsTokensCopiesLittle) {
  const RandomCache cache(DType::kBF16, 64, 1, 4, 64, 64, 1);
  StepSchedule schedule;
  ScheduleImage image;
  Mirror mirror;
  const std::vector<float> slopes = {1.0f, 0.5f, 0.25f, 0.125f};
  const AttentionParams params{.alibi = {.slopes = slopes}};
  size_t first = 0;
  for (int32_t step = 0; step < 10; ++step) {
    kv::AttentionPlan plan;
    plan.begin(cache.view);
    for (int32_t row = 0; row < 4; ++row) {
      kernels::testing::add_row(plan, 900 + step);
      int64_t block = 0;
      const int32_t id =
          kernels::testing::add_segment(plan, cache, 901 + step, 0, [&] { return block++; });
      plan.add_item({.segment = id, .first_row = row, .end_row = row + 1});
    }
    plan.finish();
    schedule.build(plan, 4, params, kA100);
    image.set(schedule, plan, params);
    const size_t copied = mirror.copy(image.changes());
    if (step == 0) {
      first = copied;
    } else {
      EXPECT_LE(copied, schedule.tasks.size() * sizeof(AttentionTask) + 4 * sizeof(int32_t));
      EXPECT_LT(copied, first);
    }
    const AttentionCall call = image.call(mirror.data());
    for (size_t i = 0; i < schedule.tasks.size(); ++i)
      ASSERT_EQ(std::memcmp(&call.tasks[i], &schedule.tasks[i], sizeof(AttentionTask)), 0);
    EXPECT_EQ(call.row_positions[3], 900 + step);
    EXPECT_EQ(call.alibi_slopes[2], 0.25f);
    EXPECT_EQ(call.caches[0].keys, cache.view.keys);
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda
