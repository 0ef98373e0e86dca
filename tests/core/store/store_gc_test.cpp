#include "core/store/store_gc.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "core/store/segment_store.h"
#include "core/store/store_directory.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHour_s = 3600;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Six segments of two models and two schemas. The first has been unused for 6 hours, the next for
// 5, and so on.
class StoreGc : public testing::Test {
 protected:
  void SetUp() override {
    SegmentStore store({.directory = folder_.path()});
    for (uint64_t i = 0; i < 6; ++i) {
      store.put(key(i), segment_of(i));
      fs::last_write_time(
          path(i), fs::file_time_type::clock::now() - std::chrono::hours(6 - static_cast<int>(i)));
    }
    bytes_ = static_cast<int64_t>(fs::file_size(path(0)));
  }

  static SegmentKey key(uint64_t i) {
    return {{.model = i % 2 == 0 ? "even" : "odd", .schema = i < 3 ? "low" : "high"},
            std::to_string(i)};
  }
  [[nodiscard]] fs::path path(uint64_t i) const { return folder_.path() / file_name_of(key(i)); }
  // The segments that are there, as digits.
  [[nodiscard]] std::string left() const {
    std::string digits;
    for (uint64_t i = 0; i < 6; ++i)
      if (fs::exists(path(i))) digits += std::to_string(i);
    return digits;
  }
  GcReport collect(const GcOptions& options) const {
    return collect_garbage(folder_.path(), options, now_ns());
  }

  model::TempDir folder_;
  int64_t bytes_ = 0;  // size of each file
};

TEST_F(StoreGc, RemovesNoSegmentUnasked) {
  const GcReport report = collect({});
  EXPECT_TRUE(report.removed.empty());
  EXPECT_EQ(report.kept_segments, 6);
  EXPECT_EQ(report.kept_bytes, 6 * bytes_);
  EXPECT_EQ(left(), "012345");
}

TEST_F(StoreGc, KeepsToABudget) {
  const GcReport report = collect({.budget_bytes = 4 * bytes_ + 1});
  EXPECT_EQ(left(), "2345");
  EXPECT_EQ(report.kept_bytes, 4 * bytes_);
  ASSERT_EQ(report.removed.size(), 2u);
  EXPECT_EQ(report.removed[0].path, path(0));
  collect({.budget_bytes = 0});
  EXPECT_EQ(left(), "");
}

TEST_F(StoreGc, KeepsToABudgetAtTheCostOfOneModel) {
  collect({.budget_bytes = 4 * bytes_, .model = "odd"});
  EXPECT_EQ(left(), "0245");
}

TEST_F(StoreGc, RemovesWhatWasNotUsed) {
  collect({.unused_s = 3 * kHour_s - 60});
  EXPECT_EQ(left(), "45");
}

TEST_F(StoreGc, RemovesBoth) {
  collect({.budget_bytes = 1 * bytes_, .unused_s = 5 * kHour_s - 60});
  EXPECT_EQ(left(), "5");
}

TEST_F(StoreGc, AFilterAloneRemovesAllOfIt) {
  collect({.model = "even", .schema = "high"});
  EXPECT_EQ(left(), "01235");
  collect({.schema = "low"});
  EXPECT_EQ(left(), "35");
}

TEST_F(StoreGc, ADryRunTouchesNothing) {
  write_content(folder_.path() / "0.segment.abcdef.unfinished", "half");
  const GcReport report = collect({.budget_bytes = 0, .is_dry_run = true});
  EXPECT_EQ(report.removed.size(), 7u);
  EXPECT_EQ(left(), "012345");
  EXPECT_TRUE(fs::exists(folder_.path() / "0.segment.abcdef.unfinished"));
}

TEST_F(StoreGc, RemovesWhatDeadWritersHaveLeftAndNothingElse) {
  write_content(folder_.path() / "0.segment.abcdef.unfinished", "half");
  write_content(folder_.path() / "store.json.abcdef.unfinished", "{");
  write_content(folder_.path() / "mine.txt", "kept");
  write_content(folder_.path() / "mine.unfinished", "kept");
  const GcReport report = collect({});
  EXPECT_EQ(report.removed.size(), 2u);
  for (const auto& removed : report.removed)
    EXPECT_EQ(removed.reason, "its writer has died") << removed.path;
  EXPECT_TRUE(fs::exists(folder_.path() / "mine.txt"));
  EXPECT_TRUE(fs::exists(folder_.path() / "mine.unfinished"));
  EXPECT_EQ(left(), "012345");
}

TEST_F(StoreGc, WaitsForAWriter) {
  const fs::path under_way = folder_.path() / "0.segment.abcdef.unfinished";
  auto lock = std::make_unique<StoreLock>(folder_.path());
  write_content(under_way, "half");
  std::atomic<bool> is_done = false;
  std::thread collector([&] {
    collect({});
    is_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_done);
  EXPECT_TRUE(fs::exists(under_way)) << "its writer lives";
  lock.reset();
  collector.join();
  EXPECT_FALSE(fs::exists(under_way));
}

TEST_F(StoreGc, DamagedFilesGoWhenAsked) {
  std::string content = content_of(path(1));
  content.back() = static_cast<char>(content.back() ^ 1);
  write_content(path(1), content);
  write_content(path(2), "no segment");
  const fs::path foreign = folder_.path() / "holiday.segment";
  write_content(foreign, "a film's");
  std::string newer = content_of(path(3));
  newer[6] = '7';
  write_content(path(3), newer);
  const GcReport kept = collect({});
  EXPECT_EQ(kept.damaged.size(), 2u) << "whose headers are damaged or newer";
  EXPECT_EQ(left(), "012345");
  const GcReport report = collect({.removes_damaged = true});
  EXPECT_EQ(left(), "0345") << "a newer version's file is not ours to remove";
  EXPECT_EQ(report.damaged.size(), 1u);
  for (const auto& removed : report.removed) EXPECT_EQ(removed.reason, "damaged");
  EXPECT_TRUE(fs::exists(foreign));
}

// A file under another segment's name: `reprise store verify` calls it damaged and says to remove
// it.
TEST_F(StoreGc, TheBudgetCountsWhatIsLeftWithoutDamagedFiles) {
  std::filesystem::resize_file(path(5), static_cast<uintmax_t>(bytes_) - 1);
  const GcReport report = collect({.budget_bytes = 5 * bytes_, .removes_damaged = true});
  EXPECT_EQ(left(), "01234");
  EXPECT_EQ(report.kept_segments, 5);
  EXPECT_EQ(report.kept_bytes, 5 * bytes_);
}

TEST_F(StoreGc, ASegmentUnderTheNameOfAnotherIsDamaged) {
  fs::rename(path(1), path(2));
  const GcReport kept = collect({});
  ASSERT_EQ(kept.damaged.size(), 1u);
  EXPECT_NE(kept.damaged[0].find("does not carry its segment's name"), std::string::npos);
  EXPECT_EQ(left(), "02345");
  const GcReport filtered = collect({.model = "odd", .schema = "low"});
  EXPECT_EQ(filtered.damaged.size(), 1u);
  EXPECT_TRUE(filtered.removed.empty());
  EXPECT_EQ(left(), "02345") << "it is damaged, whatever its header says";
  const GcReport report = collect({.removes_damaged = true});
  EXPECT_EQ(left(), "0345");
  EXPECT_TRUE(report.damaged.empty());
}

TEST_F(StoreGc, AHandleReadsOn) {
  SegmentStore store({.directory = folder_.path()});
  const auto handle = store.acquire(key(0));
  collect({.budget_bytes = 0});
  EXPECT_TRUE(holds(handle->view(), 0));
  EXPECT_FALSE(store.acquire(key(1)));
  EXPECT_EQ(store.stats().disk_segments, 5) << "of the others it learns when it puts";
  store.put(key(1), segment_of(1));
  EXPECT_EQ(store.stats().disk_segments, 1);
  EXPECT_EQ(store.keys(), std::vector<SegmentKey>{key(1)});
}

TEST(StoreDirectory, LocksAreExclusive) {
  const model::TempDir folder;
  auto first = std::make_unique<StoreLock>(folder.path());
  std::atomic<bool> has_second = false;
  std::thread other([&] {
    const StoreLock second(folder.path());
    has_second = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_second);
  first.reset();
  other.join();
  EXPECT_TRUE(has_second);
}

TEST(StoreDirectory, NamesWhatItCannotUse) {
  model::expect_error([] { StoreLock("/no/such/folder"); }, {"that you may write to"});
  EXPECT_THROW((void)list_store("/no/such/folder"), Error);
}

}  // namespace
}  // namespace reprise::kv
