// Tests parts of the commands that need no engine: tables, progress lines, and how files and
// Pythons are found.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "app/common_options.h"
#include "app/experiment_files.h"
#include "app/interrupt.h"
#include "app/progress.h"
#include "app/python.h"
#include "app/record_table.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "results/manifest.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

Json record(const std::string& method, int tokens, double ttft_ms) {
  return {{"settings",
           {{"requested", {{"method", method}, {"prompt_tokens", tokens}, {"model", "a"}}}}},
          {"metrics",
           {{"ttft_ms",
             {{"value", ttft_ms},
              {"unit", "ms"},
              {"q1", ttft_ms - 0.5},
              {"q3", ttft_ms + 0.5},
              {"iqr", 1.0}}},
            {"rate", {{"value", 7.0}, {"unit", "GB/s"}}}}}};
}

results::ResultsFolder folder_of(const std::vector<Json>& records, const Json& axes,
                                 const std::vector<std::string>& metrics) {
  Json manifest = {{"settings", {{"axes", axes}}}, {"metrics", metrics}};
  return {.source = "made-up",
          .run = results::read_manifest(value_of(manifest), "run.json"),
          .records = results::records_of_parts(records),
          .skipped = {}};
}

// The table and its notes as printed.
std::string text_of_table(const results::ResultsFolder& folder, const TableOptions& options = {}) {
  const RecordTable table = record_table(folder, options);
  return table.data + table.notes;
}

const Json kAxes = {{"prompt_tokens", {8, 16}}, {"new_tokens", {1}}};

TEST(RecordTable, ShowsWhatVariesAndTheSpread) {
  const std::string text =
      text_of_table(folder_of({record("recompute", 8, 1.5), record("contiguous", 16, 2.5)}, kAxes,
                              {"ttft_ms", "rate", "missing"}));
  EXPECT_NE(text.find("prompt_tokens  method"), std::string::npos) << text;
  EXPECT_NE(text.find("1.50 (1.00 to 2.00) *"), std::string::npos) << text;
  EXPECT_NE(text.find("rate [GB/s]"), std::string::npos) << text;
  EXPECT_EQ(text.find("model"), std::string::npos) << text;
  EXPECT_EQ(text.find("new_tokens"), std::string::npos) << text;
}

// A plan that reads bytes again may read them from caches, which is no fault of the limits.
TEST(RecordTable, SharesOfALimitAboveOneAreCountedUnlessCachesExplainThem) {
  const auto noted = [](double read_mb) {
    Json made = record("paged", 8, 1.5);
    made["metrics"] = {{"plan_limit_ratio", {{"value", 1.3}, {"unit", "ratio"}}},
                       {"read_mb", {{"value", read_mb}, {"unit", "MB"}}},
                       {"useful_mb", {{"value", 68.0}, {"unit", "MB"}}}};
    const std::string text = text_of_table(folder_of({made}, kAxes, {"plan_limit_ratio"}));
    return text.find("are above 1: it was busy") != std::string::npos;
  };
  EXPECT_TRUE(noted(68));
  EXPECT_FALSE(noted(2148));
}

TEST(RecordTable, RowsThatDifferInTheirWeightsSaySo) {
  std::vector<Json> records = {record("recompute", 8, 1.5), record("recompute", 8, 2.5)};
  records[0]["settings"]["requested"]["weights"] = "random";
  records[1]["settings"]["requested"]["weights"] = "checkpoint";
  const std::string text = text_of_table(folder_of(records, kAxes, {"rate"}));
  EXPECT_NE(text.find("weights     method"), std::string::npos) << text;
  EXPECT_NE(text.find("checkpoint  recompute"), std::string::npos) << text;
}

TEST(RecordTable, AKnownMetricThatNoRecordHasIsADash) {
  const auto folder = folder_of({record("recompute", 8, 1.5)}, kAxes, {"ttft_ms"});
  const std::string text =
      text_of_table(folder, {.metrics = "ttft_ms,copied_mb", .known = {"ttft_ms", "copied_mb"}});
  EXPECT_NE(text.find("copied_mb"), std::string::npos) << text;
  EXPECT_NE(text.find(" -\n"), std::string::npos) << text;
  EXPECT_THROW((void)record_table(folder, {.metrics = "copied_mb"}), Error);
}

TEST(RecordTable, ShowsPercentilesAndSaysWhereSamplesAreTooFew) {
  std::vector<Json> records = {record("recompute", 8, 1.5), record("contiguous", 16, 2.5)};
  records[0]["metrics"]["ttft_ms"]["p99"] = 4.25;
  records[1]["metrics"]["ttft_ms"]["too_few_for"] = {"p99", "p99.9"};
  const auto text_of_records = [&] {
    return text_of_table(folder_of(records, kAxes, {"ttft_ms.p99", "ttft_ms"}));
  };
  const std::string text = text_of_records();
  EXPECT_NE(text.find("ttft_ms.p99 "), std::string::npos) << text;
  EXPECT_NE(text.find("4.25  1.50 (1.00 to 2.00)"), std::string::npos) << text;
  EXPECT_NE(text.find("too few  2.50 (2.00 to 3.00)"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntoo few: ttft_ms.p99 takes 299 samples, 1 of 2 points have fewer"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(more with --set repetitions=N)"), std::string::npos) << text;
  records[1]["metrics"]["ttft_ms"]["population"] = true;
  EXPECT_NE(text_of_records().find("(more with --set settings.requests=N)"), std::string::npos);
  records[1]["metrics"]["ttft_ms"] = records[0]["metrics"]["ttft_ms"];
  EXPECT_EQ(text_of_records().find("too few"), std::string::npos);
}

TEST(RecordTable, NamesTheMethodThatIsNotExact) {
  std::vector<Json> records = {record("recompute", 8, 1.5), record("contiguous", 8, 2.5)};
  for (Json& record : records)
    record["metrics"] = {{"generations", {{"value", 24.0}, {"unit", "generations"}}},
                         {"diverged", {{"value", 3.0}, {"unit", "generations"}}},
                         {"unexplained", {{"value", 0.0}, {"unit", "generations"}}}};
  const auto told = [&] {
    return text_of_table(folder_of(records, Json::object(), {"diverged"}), {.columns = 200});
  };
  EXPECT_EQ(told().find("NOT EXACT"), std::string::npos);
  records[1]["metrics"]["unexplained"]["value"] = 2.0;
  const std::string text = told();
  EXPECT_NE(text.find("\nNOT EXACT: 2 of 24 generations differ from the reference by more than "
                      "rounding explains (contiguous)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("(recompute)"), std::string::npos) << text;
}

TEST(RecordTable, NamesTheReservationsAboutValidRuns) {
  std::vector<Json> records = {record("recompute", 8, 1.5), record("contiguous", 8, 2.5)};
  for (Json& record : records)
    record["answers"] = {{"verdict", "VALID"}, {"reservations", {"by lowered limits"}}};
  records[1]["answers"]["reservations"].push_back("the queue grew");
  const std::string text =
      text_of_table(folder_of(records, Json::object(), {"rate"}), {.columns = 200});
  EXPECT_NE(text.find("\nby lowered limits (all points)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nthe queue grew (contiguous)\n"), std::string::npos) << text;
}

TEST(RecordTable, SaysWhatWasNotMeasuredAndWhy) {
  results::ResultsFolder folder =
      folder_of({record("recompute", 8, 1.5)}, Json::object(), {"rate"});
  folder.run.left_out = {{.method = "torch_naive", .reason = "No libtorch."},
                         {.method = "torch_sdpa", .reason = "No libtorch."}};
  const std::string text = text_of_table(folder);
  EXPECT_NE(text.find("left out: torch_naive, torch_sdpa. No libtorch.\n"), std::string::npos)
      << text;
}

// A folder with twelve metrics, each some twenty columns wide.
results::ResultsFolder wide_folder() {
  std::vector<Json> records = {record("recompute", 8, 1.5), record("contiguous", 16, 2.5)};
  std::vector<std::string> metrics;
  for (int m = 0; m < 12; ++m) {
    metrics.push_back("metric_" + std::to_string(m));
    for (Json& record : records)
      record["metrics"][metrics.back()] = {
          {"value", 10.0 + m}, {"unit", "ms"}, {"q1", 9.0}, {"q3", 30.0}, {"iqr", 21.0}};
  }
  return folder_of(records, kAxes, metrics);
}

size_t widest_line(const std::string& text) {
  size_t widest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  return widest;
}

TEST(RecordTable, FitsTheWidthAndNamesWhatDoesNot) {
  for (const size_t columns : {80, 120}) {
    const std::string text = text_of_table(wide_folder(), {.columns = columns});
    EXPECT_LE(widest_line(text), columns) << text;
    EXPECT_NE(text.find("metric_0"), std::string::npos) << text;
    EXPECT_NE(text.find("not shown, for want of width: "), std::string::npos) << text;
    EXPECT_NE(text.find("--metrics all"), std::string::npos) << text;
  }
  EXPECT_EQ(text_of_table(wide_folder(), {.columns = 1000}).find("not shown"), std::string::npos);
}

TEST(RecordTable, ShowsAllMetricsThatAreAskedForBelowOneAnother) {
  const std::string all = text_of_table(wide_folder(), {.metrics = "all", .columns = 80});
  EXPECT_LE(widest_line(all), 80u) << all;
  for (const char* name : {"metric_0", "metric_11", "ttft_ms", "rate [GB/s]"})
    EXPECT_NE(all.find(name), std::string::npos) << name << " not in " << all;
  EXPECT_EQ(all.find("not shown"), std::string::npos);
  const std::string two = text_of_table(wide_folder(), {.metrics = "metric_5,rate"});
  EXPECT_NE(two.find("metric_5"), std::string::npos);
  EXPECT_EQ(two.find("metric_0"), std::string::npos);
  for (const auto& [metrics, what] :
       {std::pair{"metric_5,rat", "did you mean \"rate\""},
        std::pair{"ttft_ms.p98", "unknown percentile of ttft_ms \"p98\", did you mean \"p9"},
        std::pair{"ttft_ms.", "unknown percentile of ttft_ms \"\""}})
    try {
      (void)record_table(wide_folder(), {.metrics = metrics});
      FAIL() << metrics;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
}

TEST(RecordTable, LeavesOutQuartilesWhereOneMetricIsTooWide) {
  const std::string method(46, 'm');
  const auto folder =
      folder_of({record(method, 8, 1.5), record(method, 16, 2.5)}, kAxes, {"ttft_ms", "rate"});
  for (const char* metrics : {"", "ttft_ms,rate"}) {
    const std::string text = text_of_table(folder, {.metrics = metrics, .columns = 80});
    EXPECT_LE(widest_line(text), 80u) << text;
    EXPECT_NE(text.find("1.50 *"), std::string::npos) << text;
    EXPECT_EQ(text.find("(1.00 to"), std::string::npos) << text;
    EXPECT_NE(text.find("quartiles are left out"), std::string::npos) << text;
  }
  const std::string wide = text_of_table(folder, {.columns = 100});
  EXPECT_NE(wide.find("1.50 (1.00 to 2.00) *"), std::string::npos) << wide;
  EXPECT_EQ(wide.find("left out"), std::string::npos) << wide;
}

TEST(RecordTable, OtherProgramsGetNumbersWithAllTheirDigits) {
  const results::ResultsFolder folder = folder_of(
      {record("recompute", 8, 1.23456), record("contiguous", 16, 2.5)}, kAxes, {"ttft_ms", "rate"});
  const RecordTable csv = record_table(folder, {.format = "csv"});
  EXPECT_EQ(csv.data.substr(0, csv.data.find('\r')),
            "prompt_tokens,method,ttft_ms,ttft_ms_q1,ttft_ms_q3,rate,rate_q1,rate_q3,noisy");
  EXPECT_NE(csv.data.find("8,recompute,1.23456,"), std::string::npos) << csv.data;
  EXPECT_NE(csv.data.find(",ttft_ms\r\n"), std::string::npos) << "what tables star: " << csv.data;
  EXPECT_EQ(csv.data.find('*'), std::string::npos) << "numbers alone stand in their cells";
  const Json rows = Json::parse(record_table(folder, {.format = "json"}).data);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["metrics"]["ttft_ms"]["value"], 1.23456);
  EXPECT_EQ(rows[1]["settings"]["method"], "contiguous");
  EXPECT_TRUE(record_table(folder, {.format = "markdown"}).data.starts_with("| prompt_tokens |"));
  EXPECT_THROW((void)record_table(folder, {.format = "cvs"}), Error);
}

TEST(RecordTable, NamesThePointsOfTheSweepThatAreMissing) {
  results::ResultsFolder folder = folder_of({record("recompute", 8, 1.5)}, kAxes, {"ttft_ms"});
  folder.run.settings.models = {{.model = "a"}};
  folder.run.settings.methods = {{.name = "recompute"}, {.name = "contiguous"}};
  folder.records[0].settings.requested["weights"] = "";  // the axis new_tokens is missing
  folder.skipped = {{.point = "x",
                     .group = "g",
                     .label = "a  prompt_tokens=16",
                     .method = "contiguous",
                     .reason = "needs 9 GiB"}};
  const std::string text = text_of_table(folder);
  EXPECT_NE(text.find("missing: a  prompt_tokens=8: contiguous\n"), std::string::npos) << text;
  EXPECT_NE(text.find("missing: a  prompt_tokens=16: recompute\n"), std::string::npos) << text;
  EXPECT_NE(text.find("skipped: a  prompt_tokens=16 (1 point): needs 9 GiB\n"), std::string::npos)
      << text;
}

// Entries of skipped groups, each with two methods, as the runner writes them.
std::vector<results::SkippedPoint> skipped_groups(int groups) {
  std::vector<results::SkippedPoint> skipped;
  for (int group = 0; group < groups; ++group)
    for (const char* method : {"paged", "relay_attention"})
      skipped.push_back({.point = std::to_string(group) + method,
                         .group = std::to_string(group),
                         .label = "bf16 batch=" + std::to_string(group),
                         .method = method,
                         .reason = "needs 9.00 GiB (caches), 2.00 GiB are available"});
  return skipped;
}

TEST(SkippedNote, TellsTheNeedOfEachGroup) {
  EXPECT_EQ(skipped_note({}), "");
  EXPECT_EQ(skipped_note(skipped_groups(2)),
            "skipped: bf16 batch=0 (2 points): needs 9.00 GiB (caches), 2.00 GiB are available\n"
            "skipped: bf16 batch=1 (2 points): needs 9.00 GiB (caches), 2.00 GiB are available\n");
}

TEST(SkippedNote, CountsWhatItDoesNotTell) {
  const std::string text = skipped_note(skipped_groups(40));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
  EXPECT_NE(text.find("28 more groups, 80 points in all"), std::string::npos) << text;
}

class ProgressOutput {
 public:
  ProgressOutput() : file_(std::tmpfile()) {}
  ~ProgressOutput() { std::fclose(file_); }
  [[nodiscard]] std::FILE* file() const { return file_; }
  std::string text() {
    std::string text(static_cast<size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file_), text.size());
    return text;
  }

 private:
  std::FILE* file_;
};

TEST(Progress, PlainLinesCountPoints) {
  ProgressOutput output;
  Progress progress(output.file(), /*is_terminal=*/false);
  experiments::Group group;
  group.label = "a f32 prompt_tokens=8";
  progress.planned(4, 2, 100);
  progress.started(group);
  Json with_options = record("recompute", 8, 1.5);
  with_options["settings"]["requested"]["method_options"] = {{"cap", 2}};
  progress.finished(group, results::records_of_parts({with_options, record("contiguous", 8, 2.5)}));
  progress.end();
  const std::string text = output.text();
  EXPECT_NE(text.find("prompt_tokens=8 recompute {\"cap\":2}: ttft_ms"), std::string::npos) << text;
  EXPECT_NE(text.find("dropped 100 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 4 points are there already, going on"), std::string::npos) << text;
  EXPECT_NE(text.find("[3/4] a f32 prompt_tokens=8 recompute "), std::string::npos) << text;
  EXPECT_NE(text.find("[4/4] a f32 prompt_tokens=8 contiguous: ttft_ms=2.50\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

// If a record has none of the metrics that Progress prints, its line ends with the method's name,
// without a colon.
TEST(Progress, PlainLinesEndWithTheValuesThereAre) {
  ProgressOutput output;
  Progress progress(output.file(), /*is_terminal=*/false);
  experiments::Group group;
  group.label = "a f32";
  progress.planned(2, 0, 0);
  Json answered = record("isolated", 8, 1.5), counted = record("kv_heads", 8, 1.5);
  answered["metrics"] = {{"score", {{"value", 0.5}, {"unit", "ratio"}}},
                         {"mean_kl", {{"value", 0.25}, {"unit", "nats"}}}};
  counted["metrics"] = {{"other", {{"value", 1}, {"unit", ""}}}};
  progress.finished(group, results::records_of_parts({answered, counted}));
  progress.end();
  EXPECT_EQ(output.text(),
            "[1/2] a f32 isolated: score=0.500 mean_kl=0.250\n[2/2] a f32 kv_heads\n");
}

TEST(Progress, SkippedPointsAreToldAndCounted) {
  ProgressOutput output;
  Progress progress(output.file(), /*is_terminal=*/false);
  experiments::Group group;
  group.label = "a f32 batch=128";
  group.point_ids = {"p", "q"};
  progress.planned(4, 0, 0);
  progress.skipped(group,
                   {.need_bytes = 3 * 0x1p30, .available_bytes = 0x1p30, .of_what = "caches"});
  EXPECT_NE(output.text().find("[2/4] a f32 batch=128: skipped, needs 3.00 GiB (caches), 1.00 GiB "
                               "are available\n"),
            std::string::npos);
}

TEST(Progress, TerminalLineRewritesItself) {
  ProgressOutput output;
  Progress progress(output.file(), /*is_terminal=*/true);
  experiments::Group group;
  group.label = std::string(500, 'x');
  progress.planned(2, 0, 0);
  progress.started(group);
  progress.finished(group, results::records_of_parts({record("recompute", 8, 1.5)}));
  progress.end();
  const std::string text = output.text();
  EXPECT_NE(text.find("[....................] 1/2"), std::string::npos)
      << "the first is 1: " << text;
  EXPECT_NE(text.find("[##########..........] 1/2"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 400u);
}

// Within a point, a terminal is updated once a second and a log once a minute.
TEST(Progress, LongPointsTellWhatIsDone) {
  ProgressOutput terminal, log;
  experiments::Group group;
  group.label = "a f32";
  Progress on_terminal(terminal.file(), /*is_terminal=*/true);
  Progress in_log(log.file(), /*is_terminal=*/false);
  for (Progress* progress : {&on_terminal, &in_log}) {
    progress->planned(2, 0, 0);
    progress->started(group);
    progress->doing("too early");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (Progress* progress : {&on_terminal, &in_log}) progress->doing("san, repetition 1 of 3");
  const std::string text = terminal.text();
  EXPECT_NE(text.find("1/2"), std::string::npos) << text;
  EXPECT_NE(text.find("a f32: san, repetition 1 of 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("too early"), std::string::npos) << text;
  EXPECT_EQ(log.text(), "") << "a line a minute";
}

TEST(OutputColumns, AreThoseSetElseTheTerminalsElseOfAPipe) {
  ProgressOutput pipe;
  ::setenv("COLUMNS", "80", 1);
  EXPECT_EQ(output_columns(pipe.file()), 80u);
  for (const char* senseless : {"", "0", "-5", "80x", "wide", "99999999999999999999999"}) {
    ::setenv("COLUMNS", senseless, 1);
    EXPECT_EQ(output_columns(pipe.file()), 120u) << senseless;
  }
  ::unsetenv("COLUMNS");
  EXPECT_EQ(output_columns(pipe.file()), 120u);
}

TEST(Duration, ReadsLikeAClock) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(41), "41 s");
  EXPECT_EQ(duration_text(185), "3:05");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

TEST(FindExperiment, TakesPathsAndNames) {
  EXPECT_TRUE(std::filesystem::exists(find_experiment("quickstart")));
  EXPECT_TRUE(std::filesystem::exists(find_experiment("prompt_cache/fig5")));
  EXPECT_TRUE(std::filesystem::exists(find_experiment("experiments/prompt_cache/fig5.json")));
  try {
    (void)find_experiment("quikstart");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"quickstart\""), std::string::npos);
  }
}

TEST(DrawFigures, MissingScriptIsNamedWithTheRemedy) {
  ::setenv("REPRISE_PLOTS_DIR", "/nowhere", 1);
  try {
    draw_figures({{"source", "made-up"}}, "/tmp");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("REPRISE_PLOTS_DIR"), std::string::npos);
  }
  ::unsetenv("REPRISE_PLOTS_DIR");
}

// Interrupts eight threads at the same time, and ends the process with status 0.
void interrupt_all_at_once() {
  (void)watch_interrupts();
  constexpr int kThreads = 8;
  std::atomic<int> missing = kThreads;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&missing] {
      --missing;
      while (missing > 0) std::this_thread::yield();
      std::raise(SIGINT);
    });
  for (std::thread& thread : threads) thread.join();
  std::_Exit(0);
}

// A handler once read the time of the first interrupt before another thread had stored it.
TEST(InterruptDeathTest, InterruptsOfSeveralThreadsAtOnceCountAsOne) {
  for (int round = 0; round < 100; ++round)
    ASSERT_EXIT(interrupt_all_at_once(), ::testing::ExitedWithCode(0), "");
}

TEST(MakeContext, RefusesWhatIsNotThere) {
  EXPECT_GE(make_context({}).threads, 1);
  EXPECT_EQ(make_context({.threads = 3, .isa = "portable", .device = "cpu"}).threads, 3);
  EXPECT_THROW((void)make_context({.threads = -1, .isa = "", .device = "cpu"}), Error);
  EXPECT_THROW((void)make_context({.threads = 0, .isa = "avx1024", .device = "cpu"}), Error);
  EXPECT_THROW((void)make_context({.threads = 0, .isa = "", .device = "cuda"}), Error);
  EXPECT_THROW((void)make_context({.threads = 0, .isa = "", .device = "gpu"}), Error);
}

}  // namespace
}  // namespace reprise::app
