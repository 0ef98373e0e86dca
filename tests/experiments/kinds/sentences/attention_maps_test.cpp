#include "experiments/kinds/sentences/attention_maps.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/core/sentence/sentence_testing.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using model::expect_error;

class AttentionMaps : public KindOnTinyModel {
 protected:
  AttentionMaps() { sentence::write_sentence_model(bert_); }
  std::vector<Measured> measure(const std::string& pairs, const Json& settings = Json::object(),
                                const Json& series = {"pairs", "strangers", "uniform"}) {
    bert_.write("pairs.tsv", pairs);
    const Group one =
        group_of({{"kind", "attention_maps"},
                  {"models", {{{"model", bert_.path().string()}, {"weights", "random"}}}},
                  {"series", series},
                  {"workload",
                   {{"name", "sentence_pairs"}, {"file", (bert_.path() / "pairs.tsv").string()}}},
                  {"settings", settings}});
    AttentionMapsKind kind(context_);
    kind.check(one);
    return measured_json(kind.measure(one, Machine(), stop_));
  }

  model::TempDir bert_;
};

TEST_F(AttentionMaps, TextsOfOneLengthAreCompared) {
  // One of the pairs has texts of different lengths, and one has equal texts.
  const auto measured = measure("5\ta b\tc d\n3\ta c\ta c d\n1\th h\th h\n2\tf g\tg f\n");
  EXPECT_EQ(value_of(measured[0], "compared_pairs"), 2);
  // Seven texts make 21 pairs. Three of them are pairs of the file, which are not compared. No
  // other pair has equal texts.
  EXPECT_EQ(value_of(measured[1], "compared_pairs"), 21 - 3);
  EXPECT_EQ(value_of(measured[2], "compared_pairs"), 8);
  for (const Measured& one : measured) {
    EXPECT_GT(value_of(one, "map_distance"), 0);
    EXPECT_LE(value_of(one, "map_distance"), 1);
    EXPECT_LE(value_of(one, "nearest_head_distance"), value_of(one, "farthest_head_distance"));
    EXPECT_TRUE(one.metrics["map_distance"].value("population", false))
        << "the pairs' distances would count as noise of the machine";
  }
}

// A figure draws these maps; each row must have the sum 1.
TEST_F(AttentionMaps, TheFirstPairIsShown) {
  const auto measured = measure("5\ta\tc d\n3\ta b c\tc d e\n1\th h h\tg f g\n");
  const Json& shown = measured[0].answers["maps"];
  EXPECT_EQ(shown["texts"], Json::array({"a b c", "c d e"}));
  const auto tokens = shown["tokens"].get<size_t>();
  EXPECT_GE(tokens, 3u);
  for (const Json& map : shown["weights_permille"]) {
    const auto weights = map.get<std::vector<int>>();
    ASSERT_EQ(weights.size(), tokens * tokens);
    for (size_t row = 0; row < tokens; ++row) {
      const auto first = weights.begin() + static_cast<ptrdiff_t>(row * tokens);
      EXPECT_NEAR(std::accumulate(first, first + static_cast<ptrdiff_t>(tokens), 0), 1000,
                  static_cast<double>(tokens));
    }
  }
  EXPECT_GE(value_of(measured[0], "shown_distance"), 0);
  EXPECT_EQ(measured[1].answers["maps"]["texts"][0], "a b c");
  EXPECT_TRUE(measured[2].answers.empty());  // this series compares a text with no other
  EXPECT_FALSE(measured[2].metrics.contains("shown_distance"));
}

TEST_F(AttentionMaps, TheShownHeadMayBeChosen) {
  for (const int head : {0, 1}) {
    const auto measured = measure("3\ta b c\tc d e\n1\th h h\tg f g\n", {{"head", head}});
    EXPECT_EQ(measured[0].answers["maps"]["head"], head);
  }
}

TEST_F(AttentionMaps, WhatCannotBeComparedIsRefused) {
  const std::string some = "5\ta b\tc d\n3\ta c\ta c d\n";
  expect_error([&] { (void)measure(some, {{"layer", 2}}); }, {"layer is 2", "has 2"});
  expect_error([&] { (void)measure(some, {{"head", 99}}); }, {"head is 99"});
  expect_error([&] { (void)measure("5\ta b\tc d e\n3\ta\ta c d f\n"); }, {"pairs", "equally many"});
  expect_error([&] { (void)measure(some, {}, Json::array({"neighbours"})); }, {"neighbours"});
}

}  // namespace
}  // namespace reprise::experiments
