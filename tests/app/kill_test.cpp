// Kills a sweep by SIGKILL again and again. The same command must continue it each time, and the
// records must be those of an undisturbed run.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "results/store.h"
#include "tests/app/slow_experiment.h"
#include "tests/app/subprocess.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 4711;

class KillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() / fmt::format("reprise_kill_{}_{}", ::getpid(), info->name());
    write_slow_experiment(dir_, "kill");
  }
  void TearDown() override { fs::remove_all(dir_); }

  [[nodiscard]] Subprocess start(const std::string& out) const {
    return {{REPRISE_PROGRAM, "run", (dir_ / "kill.json").string(), "--out", (dir_ / out).string(),
             "--no-plot", "--threads", "1"},
            dir_};
  }
  // Size in bytes of a run's records; 0 before there are any.
  [[nodiscard]] std::uintmax_t file_size(const std::string& out) const {
    std::error_code error;
    const auto size = fs::file_size(dir_ / out / "records.jsonl", error);
    return error ? 0 : size;
  }
  // Returns the parts of each point's record that two runs must have in common: settings, seeds,
  // answers, group and number of samples.
  [[nodiscard]] std::map<std::string, Json> outcome(const std::string& out) const {
    std::map<std::string, Json> points;
    for (const Json& record : results::lines_of(results::read_records(dir_ / out))) {
      const Json same = {
          {"settings", record["settings"]}, {"seeds", record["seeds"]},
          {"answers", record["answers"]},   {"config_hash", record["config_hash"]},
          {"group", record["group"]},       {"samples", record["samples"]["ttft_ms"].size()}};
      EXPECT_TRUE(points.emplace(record["point"].get<std::string>(), same).second)
          << "point " << record["point"] << " was written twice";
    }
    return points;
  }

  fs::path dir_;
};

TEST_F(KillTest, RecordsAfterManyKillsAreThoseOfAnUndisturbedRun) {
  Subprocess undisturbed = start("whole");
  ASSERT_EQ(undisturbed.wait(), 0) << undisturbed.err();

  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  int kills = 0;
  size_t records = 0;
  for (int attempt = 0; attempt < 9; ++attempt) {
    const auto size = file_size("killed");
    Subprocess process = start("killed");
    // Kills three times before the first record, while the folder is made and the machine measured.
    // Then kills each time shortly after a further group was written, however fast the machine is.
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (attempt >= 3 && file_size("killed") == size && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % (attempt < 3 ? 300 : 40)));
    process.send(SIGKILL);
    kills += process.wait() == 128 + SIGKILL ? 1 : 0;
    if (file_size("killed") == 0) continue;
    const size_t now = results::read_records(dir_ / "killed").size();
    EXPECT_GE(now, records) << "a kill lost records";
    records = now;
    if (records == outcome("whole").size()) break;  // all points are measured
  }
  EXPECT_GE(kills, 4);
  Subprocess last = start("killed");
  ASSERT_EQ(last.wait(), 0) << last.err();
  EXPECT_EQ(outcome("killed"), outcome("whole"));
  EXPECT_EQ(outcome("whole").size(), 16u);
}

TEST_F(KillTest, InterruptEndsCleanlyAndSaysHowToGoOn) {
  Subprocess process = start("interrupted");
  // The signal handler is installed before the manifest is written.
  while (!fs::exists(dir_ / "interrupted" / "run.json"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  process.send(SIGINT);
  const int status = process.wait();
  if (status != 0) {  // a fast machine may already have finished
    EXPECT_EQ(status, 130);
    EXPECT_NE(process.err().find("The same command goes on"), std::string::npos) << process.err();
  }
  Subprocess again = start("interrupted");
  EXPECT_EQ(again.wait(), 0) << again.err();
  EXPECT_EQ(outcome("interrupted").size(), 16u);
}

// With --fresh, the same command would set the measured points aside and begin again.
TEST_F(KillTest, AnInterruptedFreshRunGoesOnWithoutFresh) {
  Subprocess process(
      {REPRISE_PROGRAM, "run", "serving/unshared", "--scale", "smoke", "--set", "methods=paged",
       "--set", "repetitions=1", "--out", (dir_ / "fresh").string(), "--no-plot", "--fresh"},
      dir_);
  while (!fs::exists(dir_ / "fresh" / "run.json"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  process.send(SIGINT);
  if (process.wait() == 0) GTEST_SKIP() << "this machine had finished before the signal came";
  EXPECT_NE(process.err().find("The same command without --fresh goes on"), std::string::npos)
      << process.err();
}

TEST_F(KillTest, InterruptKeepsTheTableAndTheTraceOfWhatWasMeasured) {
  std::string lengths = "sweep.user_tokens=16";
  for (int tokens = 17; tokens < 80; ++tokens) lengths += fmt::format(",{}", tokens);
  Subprocess process(
      {REPRISE_PROGRAM, "run", "serving/unshared", "--scale", "smoke", "--set", "methods=paged",
       "--set", "repetitions=1", "--set", lengths, "--trace", (dir_ / "trace.json").string(),
       "--out", (dir_ / "served").string(), "--no-plot", "--threads", "1"},
      dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (file_size("served") == 0 && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.send(SIGINT);
  ASSERT_EQ(process.wait(), 130) << process.err();
  EXPECT_NE(process.out().find("throughput_rps"), std::string::npos) << process.out();
  EXPECT_FALSE(Json::parse(read_file(dir_ / "trace.json"))["traceEvents"].empty());
}

}  // namespace
}  // namespace reprise::app
