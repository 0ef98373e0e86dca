// Tests a kind's axes as a struct: the list of axes that the struct makes, and how it is filled
// from a group.
#include "experiments/framework/axis_visitor.h"

#include <gtest/gtest.h>

#include "experiments/framework/kind.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/latency/prompt_lengths.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "tests/experiments/framework/sample_experiment.h"

namespace reprise::experiments {
namespace {

// One field of each type. The names are not in alphabetical order.
struct SampleAxes {
  int64_t requests = 4;
  double rate_rps = 0.5;
  std::string arrivals = "poisson";
  std::string column;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"requests", "requests", "how many"}, {1, 64}, requests);
    visitor.real({"rate_rps", "1/s", "how often", /*came_later=*/true}, {0, 100}, rate_rps);
    visitor.word({"arrivals", "", "when"}, {{"poisson", "constant"}}, arrivals);
    visitor.text({"column", "", "its heading"}, {.most_bytes = 10}, column);
  }
};

const AxisValues kGiven = {
    {"requests", 8}, {"rate_rps", 2.5}, {"arrivals", "constant"}, {"column", "tokens"}};

AxisValues without(AxisValues values, const std::string& name) {
  values.erase(name);
  return values;
}

AxisValues with(AxisValues values, const std::string& name, const AxisValue& value) {
  values[name] = value;
  return values;
}

TEST(AxisVisitor, ListsAxesInTheOrderInWhichTheyAreShown) {
  const std::vector<Axis> axes = list_axes<SampleAxes>();
  EXPECT_EQ(names_of(axes),
            (std::vector<std::string>{"requests", "rate_rps", "arrivals", "column"}));
  EXPECT_EQ(axes[0].fallback, AxisValue(4));
  EXPECT_EQ(axes[1].fallback, AxisValue(0.5));
  EXPECT_EQ(axes[2].fallback, AxisValue("poisson"));
  EXPECT_EQ(axes[3].fallback, AxisValue(""));
  EXPECT_EQ(axes[0].accepted_text(), "1 to 64");
  EXPECT_EQ(axes[1].accepted_text(), "0 to 100");
  EXPECT_EQ(axes[2].accepted_text(), "poisson, constant");
  EXPECT_EQ(axes[3].accepted_text(), "a text of at most 10 bytes");
  EXPECT_EQ(axes[1].unit, "1/s");
  EXPECT_EQ(axes[1].help, "how often");
  EXPECT_TRUE(axes[1].came_later);
  EXPECT_FALSE(axes[0].came_later);
}

TEST(AxisVisitor, ReadsEveryFieldFromItsName) {
  const auto axes = read_axes<SampleAxes>(kGiven);
  EXPECT_EQ(axes.requests, 8);
  EXPECT_EQ(axes.rate_rps, 2.5);
  EXPECT_EQ(axes.arrivals, "constant");
  EXPECT_EQ(axes.column, "tokens");
  EXPECT_EQ(axis_values(axes), kGiven);
  EXPECT_EQ(Group{.axes = kGiven}.axes_as<SampleAxes>().requests, 8);
}

TEST(AxisVisitor, DefaultsAreTheFallbacks) {
  const AxisValues values = axis_values(ServingAxes());
  const std::vector<Axis> axes = list_axes<ServingAxes>();
  ASSERT_EQ(values.size(), axes.size());
  for (const Axis& axis : axes) EXPECT_EQ(values.at(axis.name), axis.fallback) << axis.name;
}

TEST(AxisVisitor, WhatAFileSetsReachesTheStruct) {
  const auto groups =
      expand(parse_sample(sample_file()), {.context = {.threads = 1, .isa = Isa::kPortable}});
  const auto first = groups.front().axes_as<TtftAxes>(), last = groups.back().axes_as<TtftAxes>();
  EXPECT_EQ(first.prompt_tokens, 8);
  EXPECT_EQ(last.prompt_tokens, 32);
  EXPECT_EQ(first.new_tokens, 2);
  EXPECT_EQ(first.prefill_chunk, TtftAxes().prefill_chunk);
}

// A group that was made from another struct than SampleAxes must not be read into it.
TEST(AxisVisitorDeathTest, ReadingWantsTheAxesOfTheStructAndNoOthers) {
  EXPECT_DEATH((void)read_axes<SampleAxes>(without(kGiven, "rate_rps")), "axis rate_rps");
  EXPECT_DEATH((void)read_axes<SampleAxes>(with(kGiven, "rate", 1.0)), "4 axes .* of 5 values");
  EXPECT_DEATH((void)read_axes<SampleAxes>(with(kGiven, "rate_rps", 2)), "2 is no real");
  EXPECT_DEATH((void)read_axes<SampleAxes>(with(kGiven, "arrivals", 2)), "2 is no word");
}

struct TwiceNamed {
  int64_t first = 1, second = 1;
  void visit(AxisVisitor& visitor) {
    visitor.integer({"batch", "", "sequences"}, {1, 8}, first);
    visitor.integer({"batch", "", "requests"}, {1, 8}, second);
  }
};

struct FallbackOutOfRange {
  int64_t batch = 9;
  void visit(AxisVisitor& visitor) { visitor.integer({"batch", "", "many"}, {1, 8}, batch); }
};

struct FallbackIsNoWord {
  std::string order = "sorted";
  void visit(AxisVisitor& visitor) {
    visitor.word({"order", "", "of requests"}, {{"drawn", "recorded"}}, order);
  }
};

TEST(AxisVisitorDeathTest, AStructNamesEachAxisOnceWithAFallbackThatItAccepts) {
  EXPECT_DEATH((void)list_axes<TwiceNamed>(), "axis batch is shown twice");
  EXPECT_DEATH((void)axis_values(TwiceNamed()), "axis batch is shown twice");
  EXPECT_DEATH((void)list_axes<FallbackOutOfRange>(), "axis batch has fallback 9");
  EXPECT_DEATH((void)list_axes<FallbackIsNoWord>(), "axis order has fallback sorted");
}

}  // namespace
}  // namespace reprise::experiments
