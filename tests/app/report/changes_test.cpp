#include "app/report/changes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/manifest.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

Json metric(double value, const std::string& unit) { return {{"value", value}, {"unit", unit}}; }

// The record of a point in a made-up folder, whose times are multiplied by `scale`.
Json record(const std::string& method, int batch, double scale, int threads = 2) {
  Json samples = Json::array(), rates = Json::array();
  for (int i = 0; i < 20; ++i) {
    samples.push_back(scale * (10.0 + 0.01 * i));
    rates.push_back(100.0 / samples.back().get<double>());
  }
  return {{"point", method + std::to_string(batch)},
          {"settings",
           {{"requested",
             {{"method", method}, {"batch", batch}, {"threads", threads}, {"dtype", "f32"}}},
            {"resolved", Json::object()}}},
          {"samples", {{"step_ms", samples}, {"rate", rates}, {"zero_ms", {0.0, 0.0}}}},
          {"metrics",
           {{"step_ms", metric(10.1 * scale, "ms")},
            {"rate", metric(9.9 / scale, "tokens/s")},
            {"kv_mb", metric(4, "MB")},
            {"zero_ms", metric(0, "ms")}}},
          {"answers", Json::object()},
          {"machine", {{"cpu", "a"}, {"limits", {{"dram_read_gb_s", 20.0}}}}},
          {"provenance", {{"revision", "r"}}}};
}

results::ResultsFolder folder_of(const std::vector<Json>& records) {
  const Json manifest = {
      {"settings", {{"name", "made"}, {"axes", {{"batch", {1, 2}}}}}},
      {"metrics", {"step_ms", "rate", "kv_mb", "zero_ms", "step_ms.p99", "throughput_speedup"}}};
  return {.source = "made-up",
          .run = results::read_manifest(value_of(manifest), "run.json"),
          .records = results::records_of_parts(records),
          .skipped = {}};
}

const MetricChange& change_of_metric(const Changes& changes, const std::string& metric) {
  for (const MetricChange& change : changes.metrics)
    if (change.metric == metric) return change;
  ADD_FAILURE() << metric;
  return changes.metrics.front();
}

TEST(Changes, ATimeAndARateOfTheSameSlowdownAreBothWorse) {
  const results::ResultsFolder before = folder_of({record("paged", 1, 1.0)});
  const results::ResultsFolder after = folder_of({record("paged", 1, 1.5)});
  const Changes changes = changes_between(before, after, {});
  EXPECT_EQ(changes.tested, 2);  // zero_ms has samples, but they have no logarithm
  const MetricChange& time = change_of_metric(changes, "step_ms");
  EXPECT_EQ(time.verdict, ChangeVerdict::kWorse);
  EXPECT_NEAR(time.ratio, 1.5, 1e-9);
  EXPECT_GT(time.low, 1.45);
  EXPECT_LT(time.high, 1.55);
  const MetricChange& rate = change_of_metric(changes, "rate");
  EXPECT_EQ(rate.verdict, ChangeVerdict::kWorse);
  EXPECT_NEAR(rate.ratio, 1 / 1.5, 1e-9);
  EXPECT_LT(rate.high, 0.70);
  EXPECT_GT(rate.low, 0.63);
  EXPECT_EQ(change_of_metric(changes_between(after, before, {}), "rate").verdict,
            ChangeVerdict::kBetter);
}

TEST(Changes, WhatIsTheSameOrCannotBeTestedSaysSo) {
  const results::ResultsFolder before = folder_of({record("paged", 1, 1.0)});
  Json slower = record("paged", 1, 1.02);
  slower["metrics"]["kv_mb"]["value"] = 6.0;
  const Changes changes = changes_between(before, folder_of({slower}), {});
  EXPECT_EQ(change_of_metric(changes, "step_ms").verdict, ChangeVerdict::kSame);
  EXPECT_EQ(change_of_metric(changes, "kv_mb").verdict, ChangeVerdict::kUntested);
  EXPECT_EQ(change_of_metric(changes, "kv_mb").ratio, 1.5);
  EXPECT_EQ(change_of_metric(changes, "zero_ms").verdict, ChangeVerdict::kSame);
  EXPECT_TRUE(std::isnan(change_of_metric(changes, "zero_ms").ratio));
  EXPECT_EQ(changes.metrics.size(), 4u);  // the percentile was not measured
}

TEST(Changes, APointIsTheSameWhateverItWasMeasuredWith) {
  const results::ResultsFolder before =
      folder_of({record("paged", 1, 1.0), record("paged", 2, 1.0)});
  const results::ResultsFolder after = folder_of(
      {record("paged", 2, 1.0, /*threads=*/8), record("relay_attention", 2, 1.0, /*threads=*/8)});
  const Changes changes = changes_between(before, after, {});
  EXPECT_EQ(changes.points, 1u);
  EXPECT_EQ(changes.only_before, 1u);
  EXPECT_EQ(changes.only_after, 1u);
  ASSERT_EQ(changes.differences.size(), 1u);
  EXPECT_EQ(changes.differences[0], "Settings: threads 8, was 2.");
}

// Speed-ups over one method are not those over another.
TEST(Changes, AnotherFirstMethodIsADifferenceOfTheSettings) {
  const auto folder = [](const std::string& first, const std::string& second) {
    Json one = record(first, 1, 1.0), other = record(second, 1, 1.0);
    one["group"] = {{"id", "g"}, {"index", 0}, {"of", 2}};
    other["group"] = {{"id", "g"}, {"index", 1}, {"of", 2}};
    return folder_of({one, other});
  };
  const auto differences = [](const results::ResultsFolder& before,
                              const results::ResultsFolder& after) {
    return changes_between(before, after, {}).differences;
  };
  EXPECT_EQ(differences(folder("paged", "relay_attention"), folder("relay_attention", "paged")),
            std::vector<std::string>{"Settings: compared with relay_attention, was paged."});
  results::ResultsFolder retained = folder("chunk_attention", "paged");
  retained.records.front().settings.requested["method_options"] = Fields{{"retain", true}};
  EXPECT_EQ(differences(folder("chunk_attention", "paged"), retained).size(), 1u);
  EXPECT_EQ(differences(folder("paged", "relay_attention"), folder("paged", "relay_attention")),
            std::vector<std::string>());
}

TEST(Changes, FilesAreThoseOfAllRecordsWhateverTheirOrder) {
  const auto of_model = [](const std::string& model, const std::string& config) {
    Json made = record("paged", 1, 1.0);
    made["settings"]["requested"]["model"] = model;
    made["sources"] = {{"model", {{"config.json", config}}}, {"workload", {{"hash", "12"}}}};
    return made;
  };
  const results::ResultsFolder before = folder_of({of_model("a", "34"), of_model("b", "56")});
  const auto differences = [&](const results::ResultsFolder& after) {
    return changes_between(before, after, {}).differences;
  };
  EXPECT_EQ(differences(folder_of({of_model("b", "56"), of_model("a", "34")})),
            std::vector<std::string>());
  EXPECT_EQ(differences(folder_of({of_model("a", "34"), of_model("b", "78")})),
            std::vector<std::string>{"Files: config.json of b 78, was 56."});
}

TEST(Changes, CodeDiffersInRevisionsModificationsAndLibraries) {
  const auto of_code = [](const Json& provenance) {
    Json made = record("paged", 1, 1.0);
    made["provenance"] = provenance;
    return made;
  };
  const auto differences = [&](const std::vector<Json>& before, const std::vector<Json>& after) {
    return changes_between(folder_of(before), folder_of(after), {}).differences;
  };
  const auto modified = [&](const char* changes) {
    return of_code({{"revision", "r"}, {"dirty", true}, {"changes", changes}});
  };
  EXPECT_EQ(differences({modified("aa")}, {modified("bb")}),
            std::vector<std::string>{"Code: code modified bb, was aa."});
  const Json a = of_code({{"revision", std::string(40, 'a')}});
  const Json b = of_code({{"revision", std::string(40, 'b')}});
  Json b_of_another_batch = b;
  b_of_another_batch["settings"]["requested"]["batch"] = 2;
  EXPECT_EQ(differences({a}, {a, b_of_another_batch}),
            std::vector<std::string>{
                "Code: code revision aaaaaaaaaaaa and bbbbbbbbbbbb, was aaaaaaaaaaaa."});
  const auto linked = [&](const char* version) {
    return of_code({{"libraries", {{"fmt", "9"}, {"highway", version}}}});
  };
  EXPECT_EQ(differences({linked("2.6")}, {linked("3.1")}),
            std::vector<std::string>{"Code: library highway 3.1, was 2.6."});
}

TEST(Changes, OfASettingWithPartsTheDifferentPartIsNamed) {
  const auto differences = [](const std::string& before, const std::string& after) {
    const auto of_templates = [](const std::string& templates) {
      Json made = record("paged", 1, 1.0);
      made["settings"]["requested"]["workload"] = {{"file", std::string(80, 'f')},
                                                   {"templates", templates}};
      return folder_of({made});
    };
    return changes_between(of_templates(before), of_templates(after), {}).differences;
  };
  EXPECT_EQ(differences("a", "b"),
            std::vector<std::string>{"Settings: workload templates b, was a."});
}

TEST(Changes, AnInvalidRunIsNeitherBetterNorWorse) {
  Json invalid = record("paged", 1, 3.0);
  invalid["answers"] = {{"verdict", "INVALID"}, {"reasons", {"too short"}}};
  const Changes changes =
      changes_between(folder_of({record("paged", 1, 1.0)}), folder_of({invalid}), {});
  for (const MetricChange& change : changes.metrics) {
    EXPECT_EQ(change.verdict, ChangeVerdict::kInvalid) << change.metric;
    EXPECT_FALSE(change.has_interval) << change.metric;
  }
  EXPECT_EQ(changes.tested, 0);
}

TEST(Changes, ASpeedupOverAnInvalidRunIsNeitherBetterNorWorse) {
  const auto verdict_of = [](const std::string& first_run, const std::string& name) {
    Json first = record("paged", 1, 1.0), second = record("relay_attention", 1, 1.0);
    first["group"] = {{"id", "g"}, {"index", 0}, {"of", 2}};
    second["group"] = {{"id", "g"}, {"index", 1}, {"of", 2}};
    first["answers"] = {{"verdict", first_run}};
    second["answers"] = {{"verdict", "VALID"}};
    second["metrics"]["throughput_speedup"] = metric(2, "ratio");
    const results::ResultsFolder before = folder_of({second}), after = folder_of({first, second});
    return change_of_metric(changes_between(before, after, {}), name).verdict;
  };
  EXPECT_EQ(verdict_of("VALID", "throughput_speedup"), ChangeVerdict::kSame);
  EXPECT_EQ(verdict_of("INVALID", "throughput_speedup"), ChangeVerdict::kInvalid);
  EXPECT_EQ(verdict_of("INVALID", "step_ms"), ChangeVerdict::kSame);
}

// The kind had no axis "head" yet when the folder `before` was measured. The axis's default is -1.
TEST(Changes, ARecordThatIsOlderThanAnAxisHasTheAxisDefault) {
  const auto with_head = [](int head) {
    Json made = record("pairs", 1, 1.0);
    made["settings"]["requested"]["head"] = head;
    return made;
  };
  results::ResultsFolder before = folder_of({record("pairs", 1, 1.0)});
  results::ResultsFolder after = folder_of({with_head(3)});
  before.run.settings.kind = after.run.settings.kind = "attention_maps";
  after.run.settings.axes["head"] = Values{3};
  EXPECT_EQ(changes_between(before, after, {}).points, 0u);
  after.records = folder_of({with_head(3), with_head(-1)}).records;
  after.run.settings.axes["head"] = Values{3, -1};
  const Changes changes = changes_between(before, after, {});
  EXPECT_EQ(changes.points, 1u);
  EXPECT_EQ(changes.only_before, 0u);
  EXPECT_EQ(changes.metrics.front().after, &after.records[1]);
}

// A folder whose 25 samples have two modes: `lows` samples are `low`, the others `high`.
results::ResultsFolder bimodal(int lows, double low, double high) {
  Json made = record("paged", 1, 1.0);
  Json samples = Json::array();
  for (int i = 0; i < 25; ++i) samples.push_back(i < lows ? low : high);
  made["samples"] = {{"step_ms", samples}};
  made["metrics"]["step_ms"]["value"] = lows > 12 ? low : high;
  return folder_of({made});
}

// The median jumps from one mode to the other while the samples hardly move.
TEST(Changes, ARatioOutsideItsIntervalIsNotTheSame) {
  const Changes changes = changes_between(bimodal(13, 1, 100), bimodal(12, 1, 100), {});
  const MetricChange& change = change_of_metric(changes, "step_ms");
  EXPECT_EQ(change.ratio, 100);
  ASSERT_TRUE(change.has_interval);
  EXPECT_LT(change.high, 2);
  EXPECT_EQ(change.verdict, ChangeVerdict::kUndecided);
}

TEST(Changes, ARatioBeyondItsIntervalHasTheSameDirection) {
  const results::ResultsFolder before = bimodal(13, 1, 10), after = bimodal(12, 2, 20);
  const Changes slower = changes_between(before, after, {});
  const MetricChange& change = change_of_metric(slower, "step_ms");
  EXPECT_EQ(change.ratio, 20);
  EXPECT_NEAR(change.low, 2, 1e-9);
  EXPECT_NEAR(change.high, 2, 1e-9);
  EXPECT_EQ(change.verdict, ChangeVerdict::kWorse);
  EXPECT_EQ(change_of_metric(changes_between(after, before, {}), "step_ms").verdict,
            ChangeVerdict::kBetter);
}

// Both modes double, but the median falls from the higher mode to the lower one.
TEST(Changes, ARatioAgainstTheDirectionOfItsIntervalDecidesNothing) {
  const Changes changes = changes_between(bimodal(12, 1, 10), bimodal(13, 2, 20), {});
  const MetricChange& change = change_of_metric(changes, "step_ms");
  EXPECT_NEAR(change.ratio, 0.2, 1e-9);
  EXPECT_NEAR(change.low, 2, 1e-9);
  EXPECT_EQ(change.verdict, ChangeVerdict::kUndecided);
}

}  // namespace
}  // namespace reprise::app
