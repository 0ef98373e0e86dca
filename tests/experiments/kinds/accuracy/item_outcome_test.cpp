// Tests metrics of made-up outcomes against values computed by hand.
#include "experiments/kinds/accuracy/item_outcome.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "results/bootstrap.h"
#include "results/proportion.h"
#include "results/sign_flip.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using Outcomes = std::vector<ItemOutcome>;

// One question's outcome for each letter. A capital letter is a right answer.
Outcomes answered(const std::string& letters) {
  Outcomes outcomes;
  for (size_t i = 0; i < letters.size(); ++i)
    outcomes.push_back({.id = std::to_string(i),
                        .text = std::string(1, letters[i]),
                        .score = letters[i] < 'a' ? 1.0 : 0.0,
                        .tokens = {7, letters[i], 9},
                        .ttft_ms = 4,
                        .rows = {.top_1_ratio = 1}});
  return outcomes;
}

Measurement measured_of(const Outcomes& outcomes, const Outcomes& baseline) {
  Measurement measured;
  add_outcomes(measured, outcomes, baseline, 1);
  return measured;
}

TEST(AddOutcomes, CountsWonAndLost) {
  const Measured measured =
      measured_json(measured_of(answered("AAAAAAaaab"), answered("AAAaaaAAcb")));
  EXPECT_EQ(value_of(measured, "questions"), 10);
  EXPECT_EQ(value_of(measured, "score"), 0.6);
  EXPECT_EQ(value_of(measured, "won"), 3);
  EXPECT_EQ(value_of(measured, "lost"), 2);
  EXPECT_EQ(value_of(measured, "p_value"), 1.0);
  const results::Interval interval = results::wilson_interval(6, 10, 0.95);
  EXPECT_EQ(value_of(measured, "score_low"), interval.low);
  EXPECT_EQ(value_of(measured, "score_high"), interval.high);
  EXPECT_EQ(value_of(measured, "same_text_ratio"), 0.4);
  EXPECT_EQ(value_of(measured, "same_tokens_ratio"), 0.4);
  EXPECT_EQ(value_of(measured, "first_divergence"), 1);
  EXPECT_EQ(measured.samples["score"], (Json{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(measured.answers["items"].size(), 10u);
  EXPECT_EQ(measured.answers["items"][3]["first_divergence"], 1);
  EXPECT_FALSE(measured.answers["items"][0].contains("first_divergence"));
  EXPECT_FALSE(measured.metrics.contains("choice_score"));
}

TEST(AddOutcomes, TimesAreComparedQuestionByQuestion) {
  Outcomes outcomes = answered("AAA"), baseline = answered("AAA");
  const double times[] = {1, 8, 2}, baselines[] = {2, 80, 10};
  for (size_t i = 0; i < 3; ++i) {
    outcomes[i].ttft_ms = times[i];
    baseline[i].ttft_ms = baselines[i];
  }
  const Measured measured = measured_json(measured_of(outcomes, baseline));
  EXPECT_EQ(value_of(measured, "ttft_ms"), 2);
  EXPECT_EQ(value_of(measured, "ttft_speedup"), 5);
  EXPECT_EQ(measured.samples["ttft_speedup"], (Json{2, 10, 5}));
}

// The times of different questions are different quantities. An export of the record must not treat
// them as repeated measurements of one quantity.
TEST(AddOutcomes, SamplesOfDifferentQuestionsAreAPopulation) {
  const Measurement measured = measured_of(answered("AAb"), answered("Aab"));
  for (const char* name : {"score", "first_kl", "ttft_ms", "ttft_speedup"}) {
    EXPECT_EQ(measured.samples.at(name).size(), 3u) << name;
    EXPECT_TRUE(measured.metrics.at(name).is_population) << name;
  }
  EXPECT_FALSE(measured.metrics.at("questions").is_population);
}

TEST(AddOutcomes, ALossOfManyQuestionsIsNoChance) {
  const std::string right(20, 'A'), wrong(20, 'a');
  const Measured measured =
      measured_json(measured_of(answered(right + wrong), answered(right + right)));
  EXPECT_EQ(value_of(measured, "lost"), 20);
  EXPECT_NEAR(value_of(measured, "p_value"), 2.0 / (1 << 20), 1e-12);
}

TEST(AddOutcomes, TheBaselineBesideItselfIsEqual) {
  const Outcomes baseline = answered("AbCd");
  const Measured measured = measured_json(measured_of(baseline, baseline));
  EXPECT_EQ(value_of(measured, "p_value"), 1);
  EXPECT_EQ(value_of(measured, "same_tokens_ratio"), 1);
  EXPECT_EQ(value_of(measured, "mean_kl"), 0);
  EXPECT_FALSE(measured.metrics.contains("first_divergence")) << "none diverged";
}

TEST(AddOutcomes, ScoresBetweenRightAndWrongTakeTheBootstrap) {
  Outcomes outcomes = answered("AAbbAb"), baseline = outcomes;
  const std::vector<double> scores = {1, 0.5, 0.25, 0, 1, 0.125};
  for (size_t i = 0; i < scores.size(); ++i) outcomes[i].score = scores[i];
  const Measured measured = measured_json(measured_of(outcomes, baseline));
  const results::Interval interval = results::bootstrap_mean(scores, {.seed = 1});
  EXPECT_EQ(value_of(measured, "score_low"), interval.low);
  EXPECT_EQ(value_of(measured, "score_high"), interval.high);
  EXPECT_EQ(value_of(measured, "p_value"),
            results::sign_flip_p(std::vector<double>{0, -0.5, 0.25, 0, 0, 0.125}));
}

TEST(AddOutcomes, ChoicesAreThoseOfTheQuestionsThatHaveThem) {
  Outcomes outcomes = answered("aaaaa"), baseline = outcomes;
  for (const size_t i : {0u, 2u, 3u}) {
    outcomes[i].choice_right = i == 2;
    baseline[i].choice_right = true;
  }
  const Measured measured = measured_json(measured_of(outcomes, baseline));
  EXPECT_NEAR(value_of(measured, "choice_score"), 1.0 / 3, 1e-12);
  EXPECT_EQ(value_of(measured, "choice_score_low"), results::wilson_interval(1, 3, 0.95).low);
  EXPECT_EQ(value_of(measured, "choice_p_value"), results::mcnemar_p(0, 2));
  EXPECT_EQ(measured.answers["items"][2]["choice_right"], true);
  EXPECT_FALSE(measured.answers["items"][1].contains("choice_right"));
}

TEST(AddOutcomes, AveragesDivergenceOverQuestions) {
  Outcomes outcomes = answered("AB");
  outcomes[0].rows = {.first_kl = 0.5, .mean_kl = 0.25, .top_1_ratio = 1};
  outcomes[1].rows = {.first_kl = 0.1, .mean_kl = 0.75, .top_1_ratio = 0.5};
  const Measured measured = measured_json(measured_of(outcomes, answered("AB")));
  EXPECT_NEAR(value_of(measured, "first_kl"), 0.3, 1e-12);
  EXPECT_NEAR(value_of(measured, "mean_kl"), 0.5, 1e-12);
  EXPECT_NEAR(value_of(measured, "top_1_ratio"), 0.75, 1e-12);
  EXPECT_EQ(measured.samples["mean_kl"], (Json{0.25, 0.75}));
}

// Every metric that is measured is listed with its name and unit.
TEST(OutcomeMetrics, ListWhatIsMeasured) {
  Outcomes outcomes = answered("Ab"), baseline = answered("AB");
  for (Outcomes* both : {&outcomes, &baseline})
    for (ItemOutcome& outcome : *both) outcome.choice_right = true;
  const Measured measured = measured_json(measured_of(outcomes, baseline));
  const std::vector<MetricInfo> infos = outcome_metrics();
  EXPECT_EQ(infos.size(), measured.metrics.size());
  for (const MetricInfo& info : infos)
    EXPECT_EQ(measured.metrics.at(info.name).at("unit"), info.unit) << info.name;
}

}  // namespace
}  // namespace reprise::experiments
