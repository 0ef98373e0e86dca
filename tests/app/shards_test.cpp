// Runs one experiment with several processes of the real program: as shards, as ranks, and with one
// process killed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "results/store.h"
#include "tests/app/slow_experiment.h"
#include "tests/app/subprocess.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

constexpr int kProcesses = 4;
constexpr size_t kPoints = 16;
constexpr size_t kPointsOfGroup = 2;

class ShardsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ =
        fs::temp_directory_path() / fmt::format("reprise_shards_{}_{}", ::getpid(), info->name());
    write_slow_experiment(dir_, "shards");
  }
  void TearDown() override { fs::remove_all(dir_); }

  [[nodiscard]] Command run_command(const std::string& out) const {
    return {REPRISE_PROGRAM,
            "run",
            (dir_ / "shards.json").string(),
            "--out",
            (dir_ / out).string(),
            "--no-plot",
            "--threads",
            "1"};
  }
  [[nodiscard]] Command shard_command(const std::string& out, int index) const {
    Command command = run_command(out);
    command.insert(command.end(), {"--shard", fmt::format("{}/{}", index + 1, kProcesses)});
    return command;
  }
  // The command of one rank, with the environment that mpirun sets.
  [[nodiscard]] Command rank_command(const std::string& out, int index) const {
    Command command = {"env", fmt::format("OMPI_COMM_WORLD_RANK={}", index),
                       fmt::format("OMPI_COMM_WORLD_SIZE={}", kProcesses)};
    const Command run = run_command(out);
    command.insert(command.end(), run.begin(), run.end());
    return command;
  }
  std::unique_ptr<Subprocess> start(const Command& command) {
    const fs::path own = dir_ / fmt::format("process{}", processes_++);
    fs::create_directories(own);
    return std::make_unique<Subprocess>(command, own);
  }
  void run_alone(const Command& command) {
    const auto process = start(command);
    ASSERT_EQ(process->wait(), 0) << process->err();
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
          << "point " << record["point"] << " is read twice";
    }
    return points;
  }
  // Number of records that the processes wrote, including points measured twice.
  [[nodiscard]] size_t written_records(const std::string& out) const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(dir_ / out))
      if (entry.path().extension() == ".jsonl") count += records_in(entry.path());
    return count;
  }
  // Number of records in the whole lines of a file. A run's entry has no point and does not count.
  [[nodiscard]] static size_t records_in(const fs::path& file) {
    std::ifstream lines(file);
    size_t count = 0;
    for (std::string line; std::getline(lines, line) && !lines.eof();)
      count += line.find("\"point\":") == std::string::npos ? 0 : 1;
    return count;
  }
  [[nodiscard]] std::uintmax_t bytes_of(const fs::path& file) const {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    return error ? 0 : size;
  }
  // Waits until one of `files` holds the records of a whole group, and returns its index. The
  // process that writes the file is then at its next group, so a kill loses at most records of that
  // group.
  [[nodiscard]] size_t first_written(const std::vector<fs::path>& files) const {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    while (std::chrono::steady_clock::now() < latest) {
      for (size_t i = 0; i < files.size(); ++i)
        if (records_in(files[i]) >= kPointsOfGroup) return i;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "no process has written a record";
    return 0;
  }

  fs::path dir_;
  int processes_ = 0;
};

TEST_F(ShardsTest, FourShardsMakeTheSetOfOne) {
  run_alone(run_command("whole"));
  std::vector<std::unique_ptr<Subprocess>> processes;
  for (int i = 0; i < kProcesses; ++i) processes.push_back(start(shard_command("shards", i)));
  for (const auto& process : processes) EXPECT_EQ(process->wait(), 0) << process->err();
  EXPECT_EQ(outcome("shards"), outcome("whole"));
  EXPECT_EQ(outcome("whole").size(), kPoints);
  EXPECT_EQ(written_records("shards"), kPoints);
  for (int i = 1; i <= kProcesses; ++i)
    EXPECT_GT(bytes_of(dir_ / "shards" / fmt::format("records-{}of4.jsonl", i)), 0u);
  // Each record names its writer, and describes the machine as this writer measured it.
  for (const Json& record : results::lines_of(results::read_records(dir_ / "shards"))) {
    const auto writer = record["writer"].get<std::string>();
    const Json machine = read_json(dir_ / "shards" / ("machine-" + writer + ".json"));
    EXPECT_EQ(record["machine"], machine["machine"]);
  }
}

TEST_F(ShardsTest, FourRanksMakeTheSetOfOneAndTheFirstTellsIt) {
  run_alone(run_command("whole"));
  std::vector<std::unique_ptr<Subprocess>> ranks;
  for (int i = 0; i < kProcesses; ++i) ranks.push_back(start(rank_command("ranks", i)));
  for (const auto& rank : ranks) EXPECT_EQ(rank->wait(), 0) << rank->err();
  EXPECT_EQ(outcome("ranks"), outcome("whole"));
  EXPECT_EQ(written_records("ranks"), kPoints) << "a group was measured twice";
  EXPECT_NE(ranks[0]->out().find("prompt_tokens"), std::string::npos) << ranks[0]->out();
  // Rank 0 shows the points of all ranks as they are measured.
  size_t at = 0;
  for (size_t point = 1; point <= kPoints && at != std::string::npos; ++point)
    at = ranks[0]->err().find(fmt::format("[{}/{}] ", point, kPoints), at);
  EXPECT_NE(at, std::string::npos) << ranks[0]->err();
  for (int i = 1; i < kProcesses; ++i) {
    EXPECT_EQ(ranks[static_cast<size_t>(i)]->out(), "") << "rank " << i;
    EXPECT_EQ(ranks[static_cast<size_t>(i)]->err().find('['), std::string::npos)
        << ranks[static_cast<size_t>(i)]->err();
  }
}

// Points that the killed process has measured are kept; another process takes over the point that
// it was measuring.
TEST_F(ShardsTest, RankKilledInFlightIsReplacedByTheOthers) {
  run_alone(run_command("whole"));
  std::vector<std::unique_ptr<Subprocess>> ranks;
  std::vector<fs::path> files;
  for (int i = 0; i < kProcesses; ++i) {
    ranks.push_back(start(rank_command("ranks", i)));
    files.push_back(dir_ / "ranks" / fmt::format("records-rank{}of4.jsonl", i));
  }
  const size_t victim = first_written(files);
  ranks[victim]->send(SIGKILL);
  ranks[victim]->wait();
  for (size_t i = 0; i < ranks.size(); ++i)
    if (i != victim) {
      EXPECT_EQ(ranks[i]->wait(), 0) << ranks[i]->err();
    }
  EXPECT_GT(bytes_of(files[victim]), 0u);
  EXPECT_EQ(outcome("ranks"), outcome("whole"));
}

// No other process takes over a shard's points. If the shard is killed, they are missing until the
// same command runs again.
TEST_F(ShardsTest, ShardKilledLosesAtMostItsGroupInFlight) {
  run_alone(run_command("whole"));
  std::vector<std::unique_ptr<Subprocess>> processes;
  for (int i = 0; i < kProcesses; ++i) processes.push_back(start(shard_command("shards", i)));
  (void)first_written({dir_ / "shards" / "records-3of4.jsonl"});
  processes[2]->send(SIGKILL);
  processes[2]->wait();
  for (int i : {0, 1, 3}) EXPECT_EQ(processes[static_cast<size_t>(i)]->wait(), 0);
  // The killed shard's part is two groups of two points, and at least one of the groups was
  // written.
  EXPECT_GE(outcome("shards").size(), kPoints - 2);
  run_alone(shard_command("shards", 2));
  EXPECT_EQ(outcome("shards"), outcome("whole"));
  EXPECT_EQ(written_records("shards"), kPoints);
}

TEST_F(ShardsTest, RanksUnderMpirunMakeTheSetOfOne) {
  if (std::system("mpirun --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no mpirun here (Debian: apt-get install openmpi-bin)";
  run_alone(run_command("whole"));
  // Open MPI refuses to run as root or with more ranks than cores unless these variables are set;
  // other implementations ignore them.
  Command command = {"env",
                     "OMPI_ALLOW_RUN_AS_ROOT=1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                     "OMPI_MCA_rmaps_base_oversubscribe=1",
                     "mpirun",
                     "-n",
                     std::to_string(kProcesses)};
  const Command run = run_command("ranks");
  command.insert(command.end(), run.begin(), run.end());
  run_alone(command);
  EXPECT_EQ(outcome("ranks"), outcome("whole"));
  EXPECT_EQ(written_records("ranks"), kPoints);
}

TEST_F(ShardsTest, WhatCannotBeDividedIsRefused) {
  const auto refusal = [&](const std::string& shard, const Command& more = {}) {
    Command command = run_command("refused");
    command.insert(command.end(), {"--shard", shard});
    command.insert(command.end(), more.begin(), more.end());
    const auto process = start(command);
    EXPECT_EQ(process->wait(), 1);
    return process->err();
  };
  EXPECT_NE(refusal("5/4").find("--shard 2/4"), std::string::npos);
  EXPECT_NE(refusal("2/4", {"--fresh"}).find("--fresh would set aside"), std::string::npos);
}

}  // namespace
}  // namespace reprise::app
