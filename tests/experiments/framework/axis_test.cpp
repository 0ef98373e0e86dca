// Tests values of axes (integers, reals and words), from a file through the sweep into ids and
// labels.
#include "experiments/framework/axis.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "experiments/framework/sweep.h"
#include "results/store.h"
#include "tests/experiments/framework/sample_experiment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

const Axis kCount = {
    .name = "count", .fallback = 4, .accepted = Integers{1, 64}, .unit = "", .help = ""};
const Axis kRate = {
    .name = "rate_rps", .fallback = 0.5, .accepted = Reals{0, 100}, .unit = "1/s", .help = ""};
const Axis kArrivals = {.name = "arrivals",
                        .fallback = "poisson",
                        .accepted = Words{{"poisson", "constant", "closed"}},
                        .unit = "",
                        .help = ""};

// A kind with one axis of each type, which no experiment file of the tree has.
Vocabulary vocabulary_of_three_axes() {
  Vocabulary vocabulary = sample_vocabulary();
  vocabulary.kinds.push_back({.name = "serve",
                              .summary = "made up",
                              .axes = {kCount, kRate, kArrivals},
                              .metrics = {{"wait_ms", "ms", "made up"}},
                              .takes_model = false});
  return vocabulary;
}

Json file_of_three_axes() {
  return {
      {"name", "t"},
      {"title", "t"},
      {"kind", "serve"},
      {"methods", {"contiguous"}},
      {"sweep", {{"count", {2, 4}}, {"rate_rps", {0.5, 2}}, {"arrivals", {"closed", "poisson"}}}}};
}

Experiment parse(const Json& file, const std::vector<std::string>& overrides = {}) {
  return parse_experiment(file, "t.json", "desk", overrides, vocabulary_of_three_axes());
}

std::string message(const Axis& axis, const Json& given) {
  try {
    return "accepted " + axis.read(value_of(given), "key \"x\"").text();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Axis, ReadsValuesOfItsType) {
  EXPECT_EQ(kCount.read(8, "x"), AxisValue(8));
  EXPECT_EQ(kCount.read(8.0, "x"), AxisValue(8));
  EXPECT_EQ(kRate.read(8, "x"), AxisValue(8.0));
  EXPECT_EQ(kRate.read(0.25, "x").real(), 0.25);
  EXPECT_EQ(kArrivals.read("closed", "x").word(), "closed");
  EXPECT_NE(AxisValue(8), AxisValue(8.0));
}

TEST(Axis, RefusesWithTheRangeOrTheNearestWord) {
  EXPECT_EQ(message(kCount, 65), "key \"x\" is 65, it must be from 1 to 64");
  EXPECT_NE(message(kCount, 2.5).find("whole number"), std::string::npos);
  EXPECT_NE(message(kCount, 1e300).find("from 1 to 64"), std::string::npos);
  EXPECT_NE(message(kCount, "4").find("whole number"), std::string::npos);
  EXPECT_NE(message(kCount, true).find("whole number"), std::string::npos);
  EXPECT_EQ(message(kRate, 101), "key \"x\" is 101, it must be from 0 to 100");
  EXPECT_NE(message(kRate, "fast").find("must be a number, found \"fast\""), std::string::npos);
  EXPECT_NE(message(kArrivals, "poison").find("did you mean \"poisson\"?"), std::string::npos);
  EXPECT_NE(message(kArrivals, 3).find("poisson, constant, closed"), std::string::npos);
}

TEST(Axis, NoNumberIsInfiniteOrNone) {
  for (const double bad :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(message(kRate, bad).find("finite"), std::string::npos) << message(kRate, bad);
    EXPECT_NE(message(kCount, bad).find("must be"), std::string::npos) << message(kCount, bad);
  }
  for (const char* text : {"settings.rate_rps=nan", "settings.rate_rps=1e999"}) {
    Json file = file_of_three_axes();
    file["sweep"].erase("rate_rps");
    EXPECT_THROW((void)parse(file, {text}), Error) << text;
  }
}

TEST(Axis, EveryTypeGoesFromTheFileIntoGroupsAndLabels) {
  const Experiment experiment = parse(file_of_three_axes());
  const auto groups = expand(experiment, {.context = {.threads = 1, .isa = Isa::kPortable}});
  ASSERT_EQ(groups.size(), 8u);
  EXPECT_EQ(groups[0].axes.at("count"), AxisValue(2));
  EXPECT_EQ(groups[0].axes.at("rate_rps"), AxisValue(0.5));
  EXPECT_EQ(groups[1].axes.at("arrivals"), AxisValue("poisson"));
  EXPECT_EQ(groups[0].label, "f32 count=2 rate_rps=0.5 arrivals=closed");
  EXPECT_EQ(groups[0].requested[0].at("arrivals"), Value("closed"));
  EXPECT_TRUE(groups[2].requested[0].at("rate_rps").is_real());
  std::set<std::string> ids;
  for (const Group& group : groups) ids.insert(group.point_ids[0]);
  EXPECT_EQ(ids.size(), 8u);
}

TEST(Axis, OneRealHasOneIdHoweverItIsWritten) {
  const auto id_of = [](const Json& rate) {
    Json file = file_of_three_axes();
    file["sweep"] = {{"rate_rps", {rate}}};
    return expand(parse(file), {.context = {.threads = 1, .isa = Isa::kPortable}})[0].point_ids[0];
  };
  EXPECT_EQ(id_of(2), id_of(2.0));
  EXPECT_EQ(id_of(0), id_of(-0.0));
  EXPECT_NE(id_of(2), id_of(3));
  Json twice = file_of_three_axes();
  twice["sweep"]["rate_rps"] = {2, 2.0};
  EXPECT_THROW((void)parse(twice), Error);
}

TEST(Axis, WordsHaveNoLogarithm) {
  Json file = file_of_three_axes();
  file["plot"] = {{"x", "arrivals"}, {"y", "wait_ms"}};
  EXPECT_NO_THROW((void)parse(file));
  file["plot"]["log_x"] = true;
  EXPECT_THROW((void)parse(file), Error);
}

// Points keep the ids that they had before axes had types and before arrivals and orders had a
// seed. Results folders and the records of results/measurements are found by these ids.
TEST(Axis, PointsOfIntegersKeepTheirIds) {
  const auto groups =
      expand(parse_sample(sample_file()), {.context = {.threads = 2, .isa = Isa::kPortable}});
  EXPECT_EQ(groups.front().point_ids.front(), "2b26f83cc2c4d94e");
  EXPECT_EQ(groups.back().point_ids.back(), "5b770d0411502da2");
  const auto other = [](const char* seeds) {
    return expand(parse_sample(sample_file(), "desk", {seeds}),
                  {.context = {.threads = 2, .isa = Isa::kPortable}})
        .front()
        .point_ids.front();
  };
  for (const std::string seed : {"seeds.arrivals", "seeds.order"}) {
    EXPECT_EQ(other((seed + "=1").c_str()), groups.front().point_ids.front());
    EXPECT_NE(other((seed + "=2").c_str()), groups.front().point_ids.front());
  }
  EXPECT_NE(other("seeds.arrivals=2"), other("seeds.order=2"));
}

// An older results folder can still be continued: the ids of its points are those of the sweep.
TEST(Axis, RecordedPointsAreFoundAgain) {
  const std::filesystem::path root = REPRISE_SOURCE_DIR;
  const Experiment experiment = load_experiment(
      root / "experiments/relay_attention/operator_grid.json", "desk", {}, sample_vocabulary());
  std::set<std::string> ids;
  for (const Group& group : expand(experiment, {.context = {.threads = 2, .isa = Isa::kAvx2}}))
    ids.insert(group.point_ids.begin(), group.point_ids.end());
  const auto recorded = results::read_record_files(
      {root / "results/measurements/cpu_relay_attention_grid_desk.jsonl.gz"});
  EXPECT_EQ(recorded.torn_bytes, 0);
  EXPECT_EQ(recorded.records.size(), ids.size());
  for (const results::Record& record : recorded.records)
    EXPECT_TRUE(ids.contains(record.point)) << record.point;
}

}  // namespace
}  // namespace reprise::experiments
