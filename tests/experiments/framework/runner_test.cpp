// Tests the run loop with a kind that measures in no time: order, resuming, interruption, failure.
#include "experiments/framework/runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/base/problems.h"
#include "core/device/cpu.h"
#include "results/folder.h"
#include "results/identity.h"
#include "results/store.h"
#include "tests/experiments/framework/sample_experiment.h"
#include "tests/results/sample_record.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

int64_t prompt_tokens(const Group& group) { return group.axes.at("prompt_tokens").integer(); }

// A kind whose measured "time" is the prompt's length, so that records can be compared exactly.
class InstantKind : public Kind {
 public:
  int measured = 0;
  int fail_at = -1;       // the group, from 0, that throws; -1: none
  int interrupt_at = -1;  // the group, from 0, that is given up; -1: none
  std::string missing_method;
  std::string reason = "It needs a library. Install it.";
  std::optional<DType> refused_dtype;
  double bytes_per_token = 0;
  int64_t refuse_from = INT64_MAX;  // the system refuses memory from this length on

  [[nodiscard]] std::string missing(const MethodChoice& method) const override {
    return method.name == missing_method ? reason : "";
  }
  void check(const Group& group) override {
    Problems problems;
    if (prompt_tokens(group) > 1000) problems.add("prompt is too long");
    if (group.dtype == refused_dtype)
      problems.add(fmt::format("dtype {} is not for us", name_of(group.dtype)));
    problems.raise_if_any();
  }
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override {
    return {.bytes = bytes_per_token * static_cast<double>(prompt_tokens(group)),
            .of_what = "made up"};
  }
  std::vector<Measurement> measure(const Group& group, const Machine&,
                                   const std::atomic<bool>&) override {
    if (prompt_tokens(group) >= refuse_from) throw MemoryError("no room", 7e9);
    if (measured == interrupt_at) throw Interrupted{};
    if (measured == fail_at) raise("the cache needs 9 GiB, 2 GiB are available");
    ++measured;
    std::vector<Measurement> measurements(group.methods.size());
    for (Measurement& one : measurements) {
      const auto time_ms = static_cast<double>(prompt_tokens(group));
      one.samples["ttft_ms"] = {time_ms};
      one.metrics["ttft_ms"] = {.value = time_ms, .unit = "ms"};
    }
    return measurements;
  }
};

class CountingObserver : public RunObserver {
 public:
  int64_t points = 0, present = 0, torn_bytes = 0, machines = 0, finished_points = 0;
  std::vector<MemoryLack> lacks;
  void planned(int64_t all, int64_t found, int64_t torn) override {
    points = all;
    present = found;
    torn_bytes = torn;
  }
  void machine_wanted() override { ++machines; }
  void started(const Group&) override {}
  void finished(const Group&, const std::vector<results::Record>& records) override {
    finished_points += static_cast<int64_t>(records.size());
  }
  void skipped(const Group&, const MemoryLack& lack) override { lacks.push_back(lack); }
};

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    out_ = fs::temp_directory_path() / fmt::format("reprise_run_{}_{}", ::getpid(), info->name());
    fs::remove_all(out_);
  }
  void TearDown() override { fs::remove_all(out_); }

  RunOutcome run(InstantKind& kind, CountingObserver& observer, const Json& file = sample_file(),
                 const Shard& shard = {}) {
    const RunOptions options{
        .out = out_,
        .fresh = false,
        .mix = mix_,
        .settings = {.context = {.threads = 1, .isa = Isa::kPortable}, .device = Device::kCpu},
        .gpu = gpu_,
        .measure_machine =
            [this] {
              Machine machine{.cpu = "made up"};
              if (!gpu_.empty()) machine.device = MachineDevice{.name = gpu_};
              return machine;
            },
        .fresh_machine = fresh_machine_,
        .measures_limits = measures_limits_,
        .sources = fields_of(sources_),
        .shard = shard,
        .available_bytes = [this] { return available_bytes_; }};
    Experiment experiment = parse_sample(file);
    leave_out_missing(experiment, kind);
    return run_experiment(experiment, plan(experiment, options.settings), options, kind, observer,
                          stop_);
  }
  static std::set<std::string> points_of(const RunOutcome& outcome) {
    std::set<std::string> points;
    for (const results::Record& record : outcome.records) points.insert(record.point);
    return points;
  }

  fs::path out_;
  int64_t available_bytes_ = kUnknownBytes;
  bool mix_ = false;
  bool fresh_machine_ = false;
  bool measures_limits_ = true;
  std::string gpu_;
  Json sources_ = Json::object();
  std::atomic<bool> stop_ = false;
};

// A folder may come from anywhere, and its description of the machine goes into each record. So a
// faulty description is refused with the name of its file.
TEST_F(RunnerTest, AMachineThatIsNoneIsNamedWithItsFile) {
  InstantKind kind;
  CountingObserver observer;
  (void)run(kind, observer);
  const Json good = read_json(out_ / "machine.json");
  const auto message = [&](const std::string& pointer, const Json& value) -> std::string {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    std::ofstream(out_ / "machine.json") << changed.dump();
    std::ofstream(out_ / "records.jsonl").flush();  // nothing is measured yet
    try {
      (void)run(kind, observer);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::string file = (out_ / "machine.json").string();
  for (const auto& [pointer, value, named] :
       std::vector<std::tuple<std::string, Json, std::string>>{
           {"/machine", nullptr, "machine is missing"},
           {"/machine", {1, 2}, "machine must be an object"},
           {"/machine/cpu", 7, "machine.cpu"},
           {"/machine/cpu", "\x1b[31m", "machine.cpu"},
           {"/machine/limits", "fast", "machine.limits"},
           {"/machine/limits", {{"dram_read_gb_s", "fast"}}, "machine.limits.dram_read_gb_s"},
           {"/machine/l3_bytes", "many", "machine.l3_bytes"},
           {"/machine/fetch", 7, "machine.fetch"}}) {
    const std::string text = message(pointer, value);
    for (const std::string& part : {file, named, std::string("Delete it")})
      EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
  }
  EXPECT_EQ(message("/machine", good["machine"]), "");
}

// The machine that a folder keeps has a calibration, which replaces the context's prefetching.
TEST_F(RunnerTest, AKeptMachineIsNotUsedWithOtherPrefetchingOrIfAFreshOneIsWanted) {
  InstantKind kind;
  CountingObserver observer;
  const auto machines_of_next = [&] {
    const int before = observer.machines;
    std::ofstream(out_ / "records.jsonl").flush();  // nothing is measured yet
    (void)run(kind, observer);
    return observer.machines - before;
  };
  (void)run(kind, observer);
  EXPECT_EQ(machines_of_next(), 0);
  {
    const reprise::testing::EnvironmentVariable given("REPRISE_FETCH", "l2:4096:0");
    EXPECT_EQ(machines_of_next(), 1);
    EXPECT_EQ(machines_of_next(), 0);
    const reprise::testing::EnvironmentVariable other("REPRISE_WEIGHT_FETCH", "l2:2048");
    EXPECT_EQ(machines_of_next(), 1);
  }
  EXPECT_EQ(machines_of_next(), 1);
  fresh_machine_ = true;
  EXPECT_EQ(machines_of_next(), 1);
}

TEST_F(RunnerTest, MeasuresEveryPointOnceAndWritesSoundRecords) {
  InstantKind kind;
  CountingObserver observer;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(outcome.points, 24);
  EXPECT_EQ(points_of(outcome).size(), 24u);
  EXPECT_EQ(observer.finished_points, 24);
  EXPECT_EQ(observer.machines, 1);
  const Json record = results::line_of(outcome.records.front());
  EXPECT_EQ(record["machine"]["cpu"], "made up");
  EXPECT_EQ(record["seeds"]["prompts"], 5);
  EXPECT_EQ(record["settings"]["requested"]["prompt_tokens"], 8);
  EXPECT_EQ(record["group"]["of"], 2);
  EXPECT_EQ(record["settings"]["resolved"]["method_options"], Json::object());
  EXPECT_TRUE(record["provenance"].contains("compiler"));
}

TEST_F(RunnerTest, MissingMethodIsLeftOutAndNamedInEveryRecord) {
  InstantKind kind;
  kind.missing_method = "contiguous";
  kind.reason = "It needs a library.\n\nInstall it.";  // as a program printed it
  CountingObserver observer;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(outcome.points, 12);
  const Json left_out = {{{"method", "contiguous"}, {"reason", "It needs a library. Install it."}}};
  for (const Json& record : results::lines_of(outcome.records)) {
    EXPECT_EQ(record["settings"]["requested"]["method"], "recompute");
    EXPECT_EQ(record["experiment"]["left_out"], left_out);
  }
  EXPECT_EQ(json_of(read_json(out_ / "run.json"))["left_out"], left_out);
}

TEST_F(RunnerTest, MissingFirstMethodIsAnErrorWithTheRemedy) {
  InstantKind kind;
  kind.missing_method = "recompute";
  CountingObserver observer;
  try {
    run(kind, observer);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("recompute comes first in experiment"), std::string::npos) << text;
    EXPECT_NE(text.find("Install it."), std::string::npos) << text;
  }
  EXPECT_EQ(kind.measured, 0);
}

TEST_F(RunnerTest, SecondRunFindsEverythingThere) {
  InstantKind kind;
  CountingObserver observer;
  const RunOutcome first = run(kind, observer);
  const RunOutcome second = run(kind, observer);
  EXPECT_EQ(kind.measured, 12);
  EXPECT_EQ(observer.present, 24);
  EXPECT_EQ(observer.machines, 1);
  EXPECT_EQ(results::lines_of(first.records), results::lines_of(second.records));
  fs::remove_all(out_);
  measures_limits_ = false;
  EXPECT_EQ(run(kind, observer).records.at(0).machine.cpu, "made up");
  EXPECT_EQ(observer.machines, 1);  // not called again, because no limits were measured
}

TEST_F(RunnerTest, GoesOnAfterAnInterruptionWithTheSamePoints) {
  InstantKind whole;
  CountingObserver observer;
  const auto undisturbed = points_of(run(whole, observer));
  fs::remove_all(out_);
  InstantKind kind;
  for (int group = 0; group < 12; ++group) {
    kind.interrupt_at = kind.measured + 1;
    const RunOutcome outcome = run(kind, observer);
    EXPECT_EQ(outcome.was_interrupted, group < 11);
    EXPECT_EQ(outcome.records.size(), static_cast<size_t>(2 * (group + 1)));
  }
  kind.interrupt_at = -1;
  EXPECT_EQ(points_of(run(kind, observer)), undisturbed);
  EXPECT_EQ(kind.measured, 12);
}

TEST_F(RunnerTest, ARunThatGoesOnWithAnotherLabelGivesItToAllPoints) {
  InstantKind kind;
  CountingObserver observer;
  kind.interrupt_at = 1;
  const auto labels_of = [](const std::vector<results::Record>& records) {
    std::set<std::string> labels;
    for (const results::Record& record : records)
      if (text_of(record.settings.requested, "method") == "contiguous")
        labels.insert(text_of(record.settings.resolved, "method_label"));
    return labels;
  };
  Json file = sample_file();
  for (const char* label : {"old", "new", ""}) {
    file["methods"][1]["label"] = label;
    const RunOutcome outcome = run(kind, observer, file);
    EXPECT_EQ(outcome.records.size(), static_cast<size_t>(2 * kind.measured));
    EXPECT_EQ(labels_of(outcome.records), std::set<std::string>{label});
    EXPECT_EQ(labels_of(results::read_folder(out_).records), std::set<std::string>{label});
    kind.interrupt_at = kind.measured + 1;
  }
}

TEST_F(RunnerTest, FailureNamesThePointAndKeepsWhatWasMeasured) {
  InstantKind kind;
  kind.fail_at = 3;
  CountingObserver observer;
  try {
    run(kind, observer);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("models/a bf16 prompt_tokens=8"), std::string::npos) << text;
    EXPECT_NE(text.find("9 GiB"), std::string::npos);
    EXPECT_NE(text.find("6 of 24 points are safe"), std::string::npos);
  }
  EXPECT_EQ(results::read_records(out_).size(), 6u);
  kind.fail_at = -1;
  EXPECT_EQ(run(kind, observer).records.size(), 24u);
}

TEST_F(RunnerTest, ImpossibleGroupIsRefusedBeforeAnythingIsMeasured) {
  Json file = sample_file();
  file["sweep"]["prompt_tokens"] = {8, 2000};
  InstantKind kind;
  CountingObserver observer;
  EXPECT_THROW(run(kind, observer, file), Error);
  EXPECT_EQ(kind.measured, 0);
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(RunnerTest, EveryProblemIsToldAtOnceAndEachOnce) {
  Json file = sample_file();
  file["sweep"]["prompt_tokens"] = {8, 2000, 3000};
  InstantKind kind;
  kind.refused_dtype = DType::kBF16;
  CountingObserver observer;
  try {
    run(kind, observer, file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "2 problems:\n"
                 "- models/a f32 prompt_tokens=2000 (and 7 more like it): prompt is too long\n"
                 "- models/a bf16 prompt_tokens=8 (and 5 more like it): dtype bf16 is not for us");
  }
  EXPECT_FALSE(fs::exists(out_));
}

// The sample sweeps prompts of 8, 16 and 32 tokens over 2 models, 2 dtypes and 2 methods.
TEST_F(RunnerTest, PointsThatDoNotFitAreSkippedWithTheirNeedAndTheRestRuns) {
  InstantKind kind;
  kind.bytes_per_token = 0x1p30;
  available_bytes_ = int64_t{20} << 30;
  CountingObserver observer;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(outcome.records.size(), 16u);
  EXPECT_EQ(outcome.points, 24);
  EXPECT_EQ(outcome.skipped.size(), 8u);
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_FALSE(outcome.was_interrupted);
  ASSERT_EQ(observer.lacks.size(), 4u);
  EXPECT_EQ(observer.lacks[0].text(), "needs 32.00 GiB (made up), 20.00 GiB are available");
  const std::vector<results::SkippedPoint> kept = results::read_skipped(out_);
  ASSERT_EQ(FieldWriter::written(kept), FieldWriter::written(outcome.skipped));
  EXPECT_EQ(kept[0].need_bytes, 32 * 0x1p30);
  EXPECT_EQ(kept[0].label, "models/a f32 prompt_tokens=32");
  EXPECT_EQ(kept[1].method, "contiguous");
  for (const results::SkippedPoint& point : kept)
    EXPECT_FALSE(points_of(outcome).contains(point.point));
}

TEST_F(RunnerTest, LargerMachineMeasuresWhatASmallerOneSkipped) {
  InstantKind kind;
  kind.bytes_per_token = 0x1p30;
  available_bytes_ = int64_t{20} << 30;
  CountingObserver observer;
  run(kind, observer);
  EXPECT_EQ(kind.measured, 8);
  available_bytes_ = int64_t{40} << 30;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(kind.measured, 12);
  EXPECT_EQ(observer.present, 16);
  EXPECT_EQ(points_of(outcome).size(), 24u);
  EXPECT_TRUE(outcome.skipped.empty());
  EXPECT_TRUE(results::read_skipped(out_).empty());
  // Points that are measured already stay, however little memory a later start finds.
  available_bytes_ = 1;
  EXPECT_EQ(run(kind, observer).records.size(), 24u);
  EXPECT_TRUE(results::read_skipped(out_).empty());
}

TEST_F(RunnerTest, MemoryRefusedWhileMeasuringSkipsTheGroup) {
  InstantKind kind;
  kind.refuse_from = 16;
  CountingObserver observer;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(outcome.records.size(), 8u);
  EXPECT_EQ(outcome.skipped.size(), 16u);
  EXPECT_EQ(outcome.skipped[0].need_bytes, 7e9);
  EXPECT_NE(outcome.skipped[0].reason.find("no room"), std::string::npos);
}

TEST_F(RunnerTest, NothingFitsAndNothingBreaks) {
  InstantKind kind;
  kind.bytes_per_token = 1;
  available_bytes_ = 1;
  CountingObserver observer;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_TRUE(outcome.records.empty());
  EXPECT_EQ(outcome.skipped.size(), 24u);
  EXPECT_EQ(observer.machines, 0);  // with nothing to measure, no machine's limits are asked for
}

TEST_F(RunnerTest, ShardsDivideThePointsAndTheLastFindsAllOfThem) {
  InstantKind whole;
  CountingObserver observer;
  const auto undivided = points_of(run(whole, observer));
  fs::remove_all(out_);
  RunOutcome outcome;
  for (int64_t index : {2, 0, 3, 1}) {
    InstantKind kind;
    outcome = run(kind, observer, sample_file(), {.index = index, .count = 4});
    EXPECT_EQ(kind.measured, 3);
    EXPECT_EQ(observer.points, 6);
    EXPECT_EQ(outcome.measured, 6);
    EXPECT_EQ(outcome.is_complete(), index == 1);
  }
  EXPECT_EQ(points_of(outcome), undivided);
  EXPECT_EQ(outcome.records.size(), 24u);
  EXPECT_EQ(outcome.records.front().writer, "1of4");
  EXPECT_TRUE(fs::exists(out_ / "machine-3of4.json"));
  // A single process, without a shard, finds the same records and has nothing to do.
  InstantKind kind;
  EXPECT_EQ(points_of(run(kind, observer)), undivided);
  EXPECT_EQ(kind.measured, 0);
}

TEST_F(RunnerTest, FirstRankDoesAllWhereNobodyElseComes) {
  InstantKind kind;
  CountingObserver observer;
  const Shard rank{.index = 1, .count = 4, .is_dynamic = true};
  EXPECT_EQ(run(kind, observer, sample_file(), rank).records.size(), 24u);
  EXPECT_EQ(kind.measured, 12);
}

// The ranks are threads instead of processes. Claims work as between processes, because locks
// belong to open files.
TEST_F(RunnerTest, RanksMeasureEachGroupOnce) {
  std::vector<InstantKind> kinds(4);
  std::vector<RunOutcome> outcomes(4);
  std::vector<std::thread> ranks;
  for (int64_t index = 0; index < 4; ++index)
    ranks.emplace_back([&, index] {
      CountingObserver observer;
      outcomes[static_cast<size_t>(index)] =
          run(kinds[static_cast<size_t>(index)], observer, sample_file(),
              {.index = index, .count = 4, .is_dynamic = true});
    });
  for (std::thread& rank : ranks) rank.join();
  int measured = 0;
  for (size_t i = 0; i < 4; ++i) {
    measured += kinds[i].measured;
    EXPECT_EQ(outcomes[i].records.size(), 24u) << "rank " << i << " did not wait for the others";
  }
  EXPECT_EQ(measured, 12);
  EXPECT_EQ(results::read_records(out_).size(), 24u);
}

// The claim of a dead rank is released, and a rank that waits for it takes the group over.
TEST_F(RunnerTest, GroupOfADeadRankIsTakenOver) {
  InstantKind kind;
  CountingObserver observer;
  const Experiment experiment = parse_sample(sample_file());
  const RunSettings settings = {.context = {.threads = 1, .isa = Isa::kPortable}};
  results::Manifest planned = plan(experiment, settings).manifest;
  planned.identity = results::identity_fields(cpu_facts().model, cpu_facts().logical_cores, {});
  auto dead = std::make_unique<results::RecordStore>(out_, planned, false, "rank0of2");
  ASSERT_TRUE(dead->claim(5));
  std::thread death([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    dead.reset();
  });
  const RunOutcome outcome =
      run(kind, observer, sample_file(), {.index = 1, .count = 2, .is_dynamic = true});
  death.join();
  EXPECT_EQ(kind.measured, 12);
  EXPECT_EQ(outcome.records.size(), 24u);
}

TEST_F(RunnerTest, OtherSettingsInTheSameFolderAreRefused) {
  InstantKind kind;
  CountingObserver observer;
  run(kind, observer);
  Json file = sample_file();
  file["repetitions"] = 9;
  try {
    run(kind, observer, file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("repetitions"), std::string::npos);
  }
}

// Records how many groups are measured together.
class TurnsKind : public InstantKind {
 public:
  std::vector<size_t> turns;
  size_t refuse_above = SIZE_MAX;
  std::vector<std::vector<Measurement>> measure_in_turn(std::span<const Group* const> groups,
                                                        const Machine& machine,
                                                        const std::atomic<bool>& stop) override {
    turns.push_back(groups.size());
    if (groups.size() > refuse_above) throw MemoryError("no room for all at once", 7e9);
    return InstantKind::measure_in_turn(groups, machine, stop);
  }
};

Json interleaved_file() {
  return {{"name", "turns"},
          {"title", "Points in turn"},
          {"kind", "attention"},
          {"methods", {"paged", "relay_attention"}},
          {"settings", {{"prompt_tokens", 8}}},
          {"sweep", {{"batch", {1, 2, 4, 8, 16}}}}};
}

TEST_F(RunnerTest, PointsOfACurveTakeTurnsAsFarAsMemoryGoes) {
  TurnsKind kind;
  CountingObserver observer;
  kind.bytes_per_token = 1;
  available_bytes_ = 8 * 4;  // half of it holds two points of 8 tokens
  RunOutcome outcome = run(kind, observer, interleaved_file());
  EXPECT_EQ(kind.turns, (std::vector<size_t>{2, 2, 1}));
  EXPECT_EQ(outcome.records.size(), 10u);
  EXPECT_EQ(observer.finished_points, 10);
  EXPECT_EQ(outcome.records[0].settings.resolved.at("points_in_turn").integer(), 2);
  fs::remove_all(out_);
  kind.turns.clear();
  Json file = interleaved_file();
  file["interleave"] = "methods";
  outcome = run(kind, observer, file);
  EXPECT_EQ(kind.turns, (std::vector<size_t>{1, 1, 1, 1, 1}));
  EXPECT_FALSE(outcome.records[0].settings.resolved.contains("points_in_turn"));
}

// Lets another process measure the first point after this process has listed the points and before
// it claims that one.
class OvertakenObserver : public CountingObserver {
 public:
  OvertakenObserver(const fs::path& out, results::Manifest plan, Group group)
      : out_(out), plan_(std::move(plan)), group_(std::move(group)) {}
  void planned(int64_t all, int64_t found, int64_t torn) override {
    CountingObserver::planned(all, found, torn);
    std::vector<results::Record> records;
    const auto of = static_cast<int>(group_.point_ids.size());
    for (int i = 0; i < of; ++i) {
      records.push_back(
          results::sample_record(group_.point_ids[static_cast<size_t>(i)], group_.id, i, of));
      records.back().config_hash = plan_.config_hash;
    }
    results::RecordStore(out_, plan_, false, "other").append(records);
  }

 private:
  fs::path out_;
  results::Manifest plan_;
  Group group_;
};

TEST_F(RunnerTest, TurnsAfterAPointThatAnotherProcessMeasuredAreNotLost) {
  TurnsKind kind;
  kind.bytes_per_token = 1;
  available_bytes_ = 1 << 20;
  const Experiment experiment = parse_sample(interleaved_file());
  const RunSettings settings = {.context = {.threads = 1, .isa = Isa::kPortable}};
  Plan planned = plan(experiment, settings);
  planned.manifest.identity =
      results::identity_fields(cpu_facts().model, cpu_facts().logical_cores, {});
  OvertakenObserver observer(out_, planned.manifest, planned.groups[0]);
  run(kind, observer, interleaved_file(), {.index = 0, .count = 2});
  EXPECT_EQ(kind.turns, (std::vector<size_t>{2}));  // two of this shard's three points were left
  EXPECT_EQ(results::read_records(out_).size(), 6u);
}

TEST_F(RunnerTest, PointsThatDoNotFitTogetherAreMeasuredOneByOne) {
  TurnsKind kind;
  CountingObserver observer;
  kind.refuse_above = 1;
  kind.bytes_per_token = 1;
  available_bytes_ = 1 << 20;
  EXPECT_EQ(run(kind, observer, interleaved_file()).records.size(), 10u);
  EXPECT_EQ(kind.turns, (std::vector<size_t>{5, 1, 1, 1, 1, 1}));
}

TEST_F(RunnerTest, InterruptedTurnsAreGivenUpTogetherAndMeasuredByTheNextRun) {
  TurnsKind kind;
  CountingObserver observer;
  kind.bytes_per_token = 1;
  available_bytes_ = 8 * 4;
  kind.interrupt_at = 3;  // the second group of the second turn of two
  RunOutcome outcome = run(kind, observer, interleaved_file());
  EXPECT_TRUE(outcome.was_interrupted);
  EXPECT_EQ(outcome.records.size(), 4u) << "whole points alone are on disk";
  kind.interrupt_at = -1;
  EXPECT_EQ(run(kind, observer, interleaved_file()).records.size(), 10u);
}

TEST_F(RunnerTest, AnotherGpuIsRefusedOrMeasuredAnew) {
  InstantKind kind;
  CountingObserver observer;
  gpu_ = "H100 (9.0, 132 SMs, 79 GiB)";
  kind.interrupt_at = 3;
  EXPECT_TRUE(run(kind, observer).was_interrupted);
  kind.interrupt_at = -1;
  gpu_ = "H200 (9.0, 132 SMs, 139 GiB)";
  try {
    run(kind, observer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what())
            .find("machine gpu H200 (9.0, 132 SMs, 139 GiB), was H100 (9.0, 132 SMs, 79 GiB)"),
        std::string::npos)
        << error.what();
  }
  mix_ = true;
  std::map<std::string, int> records_of;
  for (const results::Record& record : run(kind, observer).records)
    ++records_of[record.machine.device.value().name];
  EXPECT_EQ(records_of, (std::map<std::string, int>{{"H100 (9.0, 132 SMs, 79 GiB)", 6},
                                                    {"H200 (9.0, 132 SMs, 139 GiB)", 18}}));
  EXPECT_EQ(observer.machines, 2);
}

// A folder of an older version has no GPU in its identity. It can be continued on the CPU.
TEST_F(RunnerTest, TheCpuIsTheSameMachineWithoutAGpu) {
  InstantKind kind;
  CountingObserver observer;
  (void)run(kind, observer);
  EXPECT_FALSE(json_of(read_json(out_ / "run.json"))["identity"]["machine"].contains("gpu"));
  EXPECT_FALSE(json_of(read_json(out_ / "machine.json"))["for"].contains("gpu"));
}

TEST_F(RunnerTest, OtherWeightsAreRefusedOrMarked) {
  InstantKind kind;
  CountingObserver observer;
  sources_["models"]["models/a"]["weights"]["model.safetensors"] = {{"header", "aa"}};
  kind.interrupt_at = 3;
  EXPECT_TRUE(run(kind, observer).was_interrupted);
  kind.interrupt_at = -1;
  sources_["models"]["models/a"]["weights"]["model.safetensors"] = {{"header", "bb"}};
  try {
    run(kind, observer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("weights of models/a: model.safetensors header bb, was aa"),
        std::string::npos)
        << error.what();
  }
  mix_ = true;
  const RunOutcome outcome = run(kind, observer);
  EXPECT_EQ(outcome.records.size(), 24u);
  int marked = 0;
  for (const results::Record& record : outcome.records)
    for (const std::string& remark : record.remarks)
      marked += remark.starts_with("mixed with") ? 1 : 0;
  EXPECT_EQ(marked, 18);
  EXPECT_EQ(results::line_of(
                outcome.records[0])["sources"]["model"]["weights"]["model.safetensors"]["header"],
            "aa");
}

TEST_F(RunnerTest, TornLastLineIsMeasuredAgain) {
  InstantKind kind;
  CountingObserver observer;
  const auto before = points_of(run(kind, observer));
  const fs::path records = out_ / "records.jsonl";
  fs::resize_file(records, fs::file_size(records) - 10);
  kind.measured = 0;
  EXPECT_EQ(points_of(run(kind, observer)), before);
  EXPECT_EQ(kind.measured, 1);
  EXPECT_GT(observer.torn_bytes, 0);
}

}  // namespace
}  // namespace reprise::experiments
