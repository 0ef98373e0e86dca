// Tests how `reprise check` ends: exit statuses that scripts read, and errors that name the remedy.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "checks/machine_lock.h"
#include "core/base/json.h"
#include "tests/app/subprocess.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

class CheckCommand : public ::testing::Test {
 protected:
  // The lock of `reprise check` lies in TMPDIR. A folder for this test alone keeps other checks on
  // this machine from interfering.
  void SetUp() override {
    fs::create_directories(dir_);
    setenv("TMPDIR", dir_.c_str(), /*overwrite=*/1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    fs::remove_all(dir_);
  }

  [[nodiscard]] std::string script(const std::string& name, const std::string& body) const {
    const fs::path file = dir_ / name;
    std::ofstream(file) << "#!/bin/sh\n" << body << '\n';
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  // A benchmark program that always reports `real_ms` of elapsed time and `cpu_ms` of processor
  // time.
  [[nodiscard]] std::string program(const std::string& name, double real_ms, double cpu_ms) const {
    return script(name, fmt::format(R"(case "$*" in
*list_tests*) echo Fixed ;;
*) echo '{{"benchmarks": [{{"name": "Fixed", "real_time": {}, "cpu_time": {}, "time_unit": "ms"}}]}}' ;;
esac)",
                                    real_ms, cpu_ms));
  }
  void expect_status(int status, const std::string& candidate, const std::string& baseline,
                     const std::string& verdict) const {
    Subprocess process({REPRISE_PROGRAM, "check", candidate, "--against", baseline, "--budget",
                        "0.1", "--calibration", "4"},
                       dir_);
    EXPECT_EQ(process.wait(), status) << process.err();
    EXPECT_NE(process.out().find(verdict), std::string::npos) << process.out();
  }

  void expect_refused(std::vector<std::string> arguments,
                      const std::vector<std::string>& parts) const {
    arguments.insert(arguments.begin(), {REPRISE_PROGRAM, "check"});
    Subprocess process(arguments, dir_);
    EXPECT_EQ(process.wait(), 2) << process.err();
    for (const std::string& part : parts)
      EXPECT_NE(process.err().find(part), std::string::npos)
          << part << " not in: " << process.err();
  }

  fs::path dir_ = fs::temp_directory_path() / fmt::format("reprise_check_{}", ::getpid());
};

TEST_F(CheckCommand, ErrorsEndWithTwoAndNameTheRemedy) {
  const std::string bad = (dir_ / "bad.json").string();
  std::ofstream(bad) << R"({"schema": 1})";
  expect_refused({"--agianst", "x"}, {"--agianst"});
  expect_refused({REPRISE_SAMPLE}, {"--against BASELINE", "--record FILE"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--budget", "-1"}, {"--budget"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--margin", "300"}, {"--margin"});
  expect_refused({"/nowhere/bin", "--against", REPRISE_SAMPLE}, {"/nowhere/bin", "bin folder"});
  expect_refused({REPRISE_SAMPLE, "--against", bad}, {bad, "no baseline"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--filter", "Nothing"},
                 {"--filter Nothing", "check_sample/Memory"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_PROGRAM}, {"status 1"});
  const std::string json = (dir_ / "json").string(), record = (dir_ / "record.json").string();
  expect_refused({REPRISE_SAMPLE, "--record", record, "--json", json}, {"--record", "--json"});
  expect_refused({REPRISE_SAMPLE, "--record", record, "--margin", "5"}, {"--record", "--margin"});
  expect_refused({REPRISE_SAMPLE, "--against", bad, "--json", json}, {bad});
  EXPECT_FALSE(fs::exists(json)) << "a refused check leaves no file";
  for (const std::string& place : {dir_.string(), (dir_ / "none/json").string(), bad + "/json"})
    expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--json", place},
                   {"--json " + place + ": cannot write there"});
  fs::create_directory(dir_ / "folder.json");
  for (const std::string& place : {(dir_ / "folder.json").string(), bad + "/none/record.json"})
    expect_refused({REPRISE_SAMPLE, "--record", place},
                   {"--record " + place + ": cannot write there"});
}

// The benchmarks run with settings of their own, so --isa and --threads could change only the
// limits that the results are compared with.
TEST_F(CheckCommand, RefusesSettingsThatTheBenchmarksWouldNotGet) {
  for (const char* option : {"--isa", "--threads"})
    expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, option}, {option});
}

// A program that is no benchmark, but whose name ended in _bench, once made every check of a whole
// build fail.
TEST_F(CheckCommand, EveryBenchmarkProgramOfThisBuildListsItsOwn) {
  const fs::path bin = fs::path(REPRISE_PROGRAM).parent_path();
  const bool has_any = std::any_of(fs::directory_iterator(bin), {}, [](const auto& entry) {
    return entry.path().filename().string().ends_with("_bench");
  });
  if (!has_any) GTEST_SKIP() << "built without benchmarks: -DREPRISE_BENCHMARKS=ON";
  expect_refused({bin.string(), "--against", bin.string(), "--filter", "^none of them$"},
                 {"matches none of the"});
}

// Such values were once accepted: nan aborted the program, and 1e-300 ran beyond its budget.
TEST_F(CheckCommand, RefusesNumbersThatMakeNoSense) {
  for (const char* option : {"--margin", "--budget", "--false-alarm", "--calibration"})
    for (const char* value : {"nan", "inf", "-inf", "1e-300", "1e300", "-1", "0", "0x10", "1e", ""})
      expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, option, value},
                     {option, "from"});
}

TEST_F(CheckCommand, EndsWithOneIfSomethingIsSlower) {
  expect_status(1, program("slow_bench", 2.2, 2.2), program("old_bench", 2.0, 2.0), "slower");
}

TEST_F(CheckCommand, EndsWithZeroIfNothingIs) {
  expect_status(0, program("new_bench", 2.0, 2.0), program("old_bench", 2.0, 2.0), "same");
}

TEST_F(CheckCommand, VerdictsThatCannotBeWrittenToAFileAreStillPrinted) {
  const std::string fixed = program("old_bench", 2.0, 2.0);
  Subprocess process({REPRISE_PROGRAM, "check", fixed, "--against", fixed, "--budget", "0.1",
                      "--calibration", "4", "--json", "/dev/full"},
                     dir_);
  EXPECT_EQ(process.wait(), 2) << process.err();
  EXPECT_NE(process.err().find("cannot write /dev/full"), std::string::npos) << process.err();
  EXPECT_NE(process.out().find("1 same of 1 benchmarks"), std::string::npos) << process.out();
}

TEST_F(CheckCommand, SaysSameOnlyOfWhatWasOnAProcessor) {
  expect_status(0, program("kept_off_bench", 2.0, 1.5), program("old_bench", 2.0, 2.0),
                "undecided");
  expect_status(0, program("kept_off_bench", 2.0, 1.0), program("old_bench", 2.0, 2.0),
                "median CPU share of 0.50");
  expect_status(0, program("kept_on_bench", 2.0, 1.7), program("old_bench", 2.0, 2.0), "same");
}

TEST_F(CheckCommand, EndsWith130WhenInterrupted) {
  const fs::path started = dir_ / "started";
  const std::string endless =
      script("endless_bench", "touch " + started.string() + "; exec sleep 60");
  Subprocess process({REPRISE_PROGRAM, "check", endless, "--against", endless}, dir_);
  for (int tick = 0; tick < 1000 && !fs::exists(started); ++tick)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
}

// timeout(1) sends its signal to the program and also to the program's group. The program then gets
// two signals at once, which must count as one interrupt.
TEST_F(CheckCommand, AnInterruptPrintsTheVerdictsSoFar) {
  const auto slow = [](const char* times) {
    return fmt::format(R"(sleep 0.02
case "$*" in
*list_tests*) echo Fixed; echo Noisy ;;
*Fixed*) echo '{{"benchmarks": [{{"name": "Fixed", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms"}}]}}' ;;
*) set -- {}; shift $(($(date +%N | sed 's/^0*//;s/^$/0/') / 1000 % 5)); echo '{{"benchmarks": [{{"name": "Noisy", "real_time": '$1', "cpu_time": '$1', "time_unit": "ms"}}]}}' ;;
esac)",
                       times);
  };
  const std::string program = script("slow_bench", slow("1.0 1.5 2.0 3.0 4.0"));
  Subprocess process({REPRISE_PROGRAM, "check", program, "--against", program, "--budget", "60",
                      "--calibration", "5"},
                     dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (process.err().find("Fixed: same") == std::string::npos &&
         std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // The signals are sent fast, because the program ends within a millisecond or two of the first.
  for (int signal = 0; signal < 20; ++signal) {
    process.send(SIGINT);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_NE(process.out().find("1 undecided, 1 same of 2 benchmarks"), std::string::npos)
      << process.out() << process.err();
  EXPECT_NE(process.out().find("slow_bench/Fixed"), std::string::npos) << process.out();
  EXPECT_NE(process.err().find("verdicts above are those reached so far"), std::string::npos)
      << process.err();
}

TEST_F(CheckCommand, AnInterruptBeforeTheFirstRoundSaysWhereItWas) {
  const std::string program = script("calibrating_bench", fmt::format(R"(case "$*" in
*list_tests*) echo Fixed ;;
*) echo run >> {}; sleep 0.1
   echo '{{"benchmarks": [{{"name": "Fixed", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms"}}]}}' ;;
esac)",
                                                                      (dir_ / "runs").string()));
  Subprocess process({REPRISE_PROGRAM, "check", program, "--against", program, "--budget", "600",
                      "--calibration", "1000"},
                     dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::error_code missing;
  while (!(fs::file_size(dir_ / "runs", missing) > 24 && !missing) &&
         std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_NE(process.err().find("before there was anything to report, at: A/A pairs"),
            std::string::npos)
      << process.err();
}

TEST_F(CheckCommand, ACandidateWithoutTheBaselinesCounterIsCompared) {
  const std::string old = script("old_bench", R"(case "$*" in
*list_tests*) echo Fixed ;;
*) echo '{"benchmarks": [{"name": "Fixed", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms", "B/s": 1e9}]}' ;;
esac)");
  expect_status(0, program("new_bench", 2.0, 2.0), old, "same");
  expect_status(0, old, program("new_bench", 2.0, 2.0), "same");
}

TEST_F(CheckCommand, BenchmarksThatOneSideLacksAreNamed) {
  const auto with = [&](const char* name, const char* other) {
    return script(name, fmt::format(R"(case "$*" in
*list_tests*) echo Fixed; echo {0} ;;
*) echo '{{"benchmarks": [{{"name": "Fixed", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms"}}]}}' ;;
esac)",
                                    other));
  };
  const fs::path json = dir_ / "check.json";
  Subprocess process({REPRISE_PROGRAM, "check", with("new_bench", "Renamed"), "--against",
                      with("old_bench", "Former"), "--budget", "0.1", "--json", json.string()},
                     dir_);
  EXPECT_EQ(process.wait(), 0) << process.err();
  for (const char* part : {"only the candidate has them: 1 benchmark (new_bench/Renamed)",
                           "only the baseline has them: 1 benchmark (new_bench/Former)"})
    EXPECT_NE(process.err().find(part), std::string::npos) << process.err();
  const Json written = Json::parse(read_file(json));
  EXPECT_EQ(written["only_in_candidate"], Json::array({"new_bench/Renamed"}));
  EXPECT_EQ(written["only_in_baseline"], Json::array({"new_bench/Former"}));
}

TEST_F(CheckCommand, BenchmarksThatSkipThemselvesAreLeftOut) {
  const auto with = [&](const char* name, const char* skips) {
    return script(name, fmt::format(R"(case "$*" in
*list_tests*) echo Fixed; echo Old; echo New ;;
*{}*) echo '{{"benchmarks": [{{"name": "'${{1#*^}}'", "skipped": true, "skip_message": "no GPU", "real_time": 0, "cpu_time": 0, "time_unit": "ns"}}]}}' ;;
*) name=${{1#*^}}; echo '{{"benchmarks": [{{"name": "'${{name%?}}'", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms"}}]}}' ;;
esac)",
                                    skips));
  };
  const std::string old = with("old_bench", "Old"), candidate = with("new_bench", "New");
  Subprocess process({REPRISE_PROGRAM, "check", candidate, "--against", old, "--budget", "0.1"},
                     dir_);
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_NE(process.out().find("1 same of 1 benchmarks"), std::string::npos) << process.out();
  for (const char* part : {"benchmark Old", "benchmark New", "skips itself: no GPU"})
    EXPECT_NE(process.err().find(part), std::string::npos) << process.err();
  expect_refused({old, "--against", old, "--filter", "Old"}, {"every benchmark skips itself"});
}

// The benchmark Flaky skips itself from its eighth run on. By then the trial runs have passed, but
// not the A/A pairs of a comparison or the samples of a recording.
TEST_F(CheckCommand, ABenchmarkThatSkipsItselfLaterIsLeftOutToo) {
  const fs::path runs = dir_ / "runs", record = dir_ / "record.json";
  const std::string flaky = script("flaky_bench", fmt::format(R"(case "$*" in
*list_tests*) echo Fixed; echo Flaky; exit ;;
*Fixed*) name=Fixed ;;
*) name=Flaky; echo run >> {0}; [ $(wc -l < {0}) -gt 7 ] && skips='"skipped": true, "skip_message": "busy", ' ;;
esac
echo '{{"benchmarks": [{{"name": "'$name'", '"$skips"'"real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms", "B/s": 1e9}}]}}')",
                                                              runs.string()));
  Subprocess compared({REPRISE_PROGRAM, "check", flaky, "--against", flaky, "--budget", "0.1"},
                      dir_);
  EXPECT_EQ(compared.wait(), 0) << compared.err();
  EXPECT_NE(compared.out().find("1 same of 1 benchmarks"), std::string::npos) << compared.out();
  EXPECT_NE(compared.err().find("left out: "), std::string::npos) << compared.err();
  fs::remove(runs);
  Subprocess recorded(
      {REPRISE_PROGRAM, "check", flaky, "--record", record.string(), "--budget", "0.1"}, dir_);
  EXPECT_EQ(recorded.wait(), 0) << recorded.err();
  EXPECT_NE(recorded.out().find("1 benchmark recorded"), std::string::npos) << recorded.out();
  EXPECT_NE(recorded.err().find("left out: "), std::string::npos) << recorded.err();
  const Json written = Json::parse(read_file(record));
  ASSERT_EQ(written["benchmarks"].size(), 1u);
  EXPECT_EQ(written["benchmarks"][0]["name"], "Fixed");
  fs::remove(runs);
  expect_refused({flaky, "--record", record.string(), "--budget", "0.1", "--filter", "Flaky"},
                 {"skips itself: busy"});
}

TEST_F(CheckCommand, AnInterruptOfARecordingSaysSo) {
  const std::string program = script("slow_bench", fmt::format(R"(case "$*" in
*list_tests*) echo Fixed ;;
*) echo run >> {}; sleep 0.1
   echo '{{"benchmarks": [{{"name": "Fixed", "real_time": 2.0, "cpu_time": 2.0, "time_unit": "ms", "B/s": 1e9}}]}}' ;;
esac)",
                                                               (dir_ / "runs").string()));
  Subprocess process({REPRISE_PROGRAM, "check", program, "--record",
                      (dir_ / "record.json").string(), "--budget", "600"},
                     dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::error_code missing;  // at most five runs of four bytes are trial runs
  while (!(fs::file_size(dir_ / "runs", missing) > 28 && !missing) &&
         std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  for (const char* part : {"\nsamples for the baseline\n", "at: samples for the baseline: "})
    EXPECT_NE(process.err().find(part), std::string::npos) << process.err();
  EXPECT_FALSE(fs::exists(dir_ / "record.json"));
}

TEST_F(CheckCommand, AnInterruptOfTheTrialRunsSaysSo) {
  const std::string program = script("slow_bench", fmt::format(R"(case "$*" in
*list_tests*) echo Fixed ;;
*) touch {}; exec sleep 60 ;;
esac)",
                                                               (dir_ / "started").string()));
  Subprocess process({REPRISE_PROGRAM, "check", program, "--against", program}, dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fs::exists(dir_ / "started") && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_NE(process.err().find("at: trial runs"), std::string::npos) << process.err();
}

TEST_F(CheckCommand, ASecondOneAtOnceIsRefused) {
  const std::string fixed = program("old_bench", 2.0, 2.0);
  const checks::MachineLock lock;
  expect_refused({fixed, "--against", fixed}, {"another check runs", "reprise_check.lock"});
}

}  // namespace
}  // namespace reprise::app
