#include "experiments/kinds/accuracy/item_outcome.h"

#include <algorithm>

#include "core/base/error.h"
#include "results/bootstrap.h"
#include "results/proportion.h"
#include "results/sign_flip.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

constexpr double kConfidence = 0.95;

const MetricInfo kQuestions = {"questions", "questions", "that were asked"};
const MetricInfo kScore = {"score", "ratio", "mean score of the generated answers"};
const MetricInfo kScoreLow = {"score_low", "ratio", "lower end of its 95 % interval"};
const MetricInfo kScoreHigh = {"score_high", "ratio", "upper end of its 95 % interval"};
const MetricInfo kWon = {"won", "questions", "that score better than with the baseline"};
const MetricInfo kLost = {"lost", "questions", "that score worse than with the baseline"};
const MetricInfo kPValue = {
    "p_value", "probability",
    "of won and lost as far apart if neither were better than the other: two-sided paired test"};
// Metrics of the questions that have choices.
const MetricInfo kChoiceScore = {"choice_score", "ratio",
                                 "share of questions whose likeliest choice is right"};
const MetricInfo kChoiceLow = {"choice_score_low", "ratio", "lower end of its 95 % interval"};
const MetricInfo kChoiceHigh = {"choice_score_high", "ratio", "upper end of its 95 % interval"};
const MetricInfo kChoicePValue = {"choice_p_value", "probability",
                                  "as p_value, of the likeliest choices"};
const MetricInfo kSameText = {"same_text_ratio", "ratio",
                              "share of answers with the baseline's text"};
const MetricInfo kSameTokens = {"same_tokens_ratio", "ratio",
                                "share of answers with the baseline's tokens"};
// A metric over the answers whose tokens differ from the baseline's.
const MetricInfo kFirstDivergence = {
    "first_divergence", "tokens",
    "that the answers with other tokens have in common with the baseline's: their median"};
const MetricInfo kTop1 = {"top_1_ratio", "ratio",
                          "share of the baseline's answer tokens at which both hold the same next "
                          "token for the most probable: mean over questions"};
const MetricInfo kFirstKl = {
    "first_kl", "nats",
    "KL(baseline || this) of the first answer token's distribution: mean over questions"};
const MetricInfo kMeanKl = {
    "mean_kl", "nats",
    "the same over all tokens of the baseline's answer: mean of a question, then over questions"};

// Set as medians without quartiles, which would only show that questions differ in length.
const MetricInfo kFirstToken = {
    "ttft_ms", "ms",
    "from the prompt to the first token of its answer, states that are kept "
    "there already: median over questions"};
const MetricInfo kFirstTokenSpeedup = {
    "ttft_speedup", "ratio",
    "the baseline's time to first token over this one's: median over questions"};

using Outcomes = std::span<const ItemOutcome>;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

bool is_right_or_wrong(const std::vector<double>& scores) {
  return std::all_of(scores.begin(), scores.end(), [](double x) { return x == 0 || x == 1; });
}

results::Interval interval_of(const std::vector<double>& scores, uint64_t seed) {
  if (!is_right_or_wrong(scores))
    return results::bootstrap_mean(scores, {.confidence = kConfidence, .seed = seed});
  return results::wilson_interval(std::count(scores.begin(), scores.end(), 1.0), std::ssize(scores),
                                  kConfidence);
}

// A mode's scores and the baseline's scores of the same questions, in the same order.
struct Paired {
  std::vector<double> scores, baseline;

  [[nodiscard]] int64_t won() const {
    int64_t count = 0;
    for (size_t i = 0; i < scores.size(); ++i) count += scores[i] > baseline[i] ? 1 : 0;
    return count;
  }
  [[nodiscard]] int64_t lost() const {
    int64_t count = 0;
    for (size_t i = 0; i < scores.size(); ++i) count += scores[i] < baseline[i] ? 1 : 0;
    return count;
  }
  [[nodiscard]] double p_value(uint64_t seed) const {
    if (is_right_or_wrong(scores) && is_right_or_wrong(baseline))
      return results::mcnemar_p(won(), lost());
    std::vector<double> differences;
    for (size_t i = 0; i < scores.size(); ++i) differences.push_back(scores[i] - baseline[i]);
    return results::sign_flip_p(differences, {.seed = seed});
  }
};

void add_scores(Measurement& measured, Outcomes outcomes, Outcomes baseline, uint64_t seed) {
  Paired paired;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    paired.scores.push_back(outcomes[i].score);
    paired.baseline.push_back(baseline[i].score);
  }
  const results::Interval interval = interval_of(paired.scores, seed);
  measured.set(kScore, mean_of(paired.scores));
  measured.set(kScoreLow, interval.low);
  measured.set(kScoreHigh, interval.high);
  measured.set(kWon, static_cast<double>(paired.won()));
  measured.set(kLost, static_cast<double>(paired.lost()));
  measured.set(kPValue, paired.p_value(seed));
  measured.samples[kScore.name] = paired.scores;
}

void add_choices(Measurement& measured, Outcomes outcomes, Outcomes baseline, uint64_t seed) {
  Paired paired;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].choice_right) continue;
    paired.scores.push_back(*outcomes[i].choice_right ? 1 : 0);
    paired.baseline.push_back(baseline[i].choice_right.value() ? 1 : 0);
  }
  if (paired.scores.empty()) return;
  const results::Interval interval = interval_of(paired.scores, seed);
  measured.set(kChoiceScore, mean_of(paired.scores));
  measured.set(kChoiceLow, interval.low);
  measured.set(kChoiceHigh, interval.high);
  measured.set(kChoicePValue, paired.p_value(seed));
  measured.samples[kChoiceScore.name] = paired.scores;
}

void add_agreement(Measurement& measured, Outcomes outcomes, Outcomes baseline) {
  std::vector<double> same_text, same_tokens, divergences, top_1, first_kl, mean_kl;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const auto parted = first_divergence(baseline[i].tokens, outcomes[i].tokens);
    same_text.push_back(outcomes[i].text == baseline[i].text ? 1 : 0);
    same_tokens.push_back(parted ? 0 : 1);
    if (parted) divergences.push_back(static_cast<double>(*parted));
    top_1.push_back(outcomes[i].rows.top_1_ratio);
    first_kl.push_back(outcomes[i].rows.first_kl);
    mean_kl.push_back(outcomes[i].rows.mean_kl);
  }
  measured.set(kSameText, mean_of(same_text));
  measured.set(kSameTokens, mean_of(same_tokens));
  // Set without quartiles, because quartiles mark a metric as noisy.
  if (!divergences.empty()) measured.set(kFirstDivergence, results::summarize(divergences).median);
  measured.set(kTop1, mean_of(top_1));
  for (const auto& [metric, values] :
       {std::pair{&kFirstKl, &first_kl}, std::pair{&kMeanKl, &mean_kl}}) {
    measured.set(*metric, mean_of(*values));
    measured.samples[metric->name] = *values;
  }
}

void add_times(Measurement& measured, Outcomes outcomes, Outcomes baseline) {
  std::vector<double> ttft_ms, speedups;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ttft_ms.push_back(outcomes[i].ttft_ms);
    speedups.push_back(baseline[i].ttft_ms / outcomes[i].ttft_ms);
  }
  for (const auto& [metric, values] :
       {std::pair{&kFirstToken, &ttft_ms}, std::pair{&kFirstTokenSpeedup, &speedups}}) {
    measured.set(*metric, results::summarize(*values).median);
    measured.samples[metric->name] = *values;
  }
}

Fields line_of(const ItemOutcome& outcome, const ItemOutcome& baseline) {
  Fields line = {{"id", outcome.id},
                 {"text", outcome.text},
                 {"score", outcome.score},
                 {"tokens", outcome.tokens.size()},
                 {"first_kl", outcome.rows.first_kl},
                 {"mean_kl", outcome.rows.mean_kl},
                 {"top_1_ratio", outcome.rows.top_1_ratio}};
  if (outcome.choice_right) line["choice_right"] = *outcome.choice_right;
  if (const auto parted = first_divergence(baseline.tokens, outcome.tokens))
    line["first_divergence"] = *parted;
  return line;
}

}  // namespace

std::vector<MetricInfo> outcome_metrics() {
  return {kScore,    kScoreLow,    kScoreHigh,         kWon,        kLost,
          kPValue,   kChoiceScore, kChoiceLow,         kChoiceHigh, kChoicePValue,
          kSameText, kSameTokens,  kFirstDivergence,   kTop1,       kFirstKl,
          kMeanKl,   kFirstToken,  kFirstTokenSpeedup, kQuestions};
}

void add_outcomes(Measurement& measured, Outcomes outcomes, Outcomes baseline, uint64_t seed) {
  REPRISE_CHECK(!outcomes.empty() && outcomes.size() == baseline.size(), "{} and {} outcomes",
                outcomes.size(), baseline.size());
  Values lines;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    REPRISE_CHECK(outcomes[i].id == baseline[i].id, "{} beside {}", outcomes[i].id, baseline[i].id);
    lines.emplace_back(line_of(outcomes[i], baseline[i]));
  }
  measured.answers["compared_with"] = "baseline";
  measured.answers["items"] = std::move(lines);
  measured.set(kQuestions, static_cast<double>(outcomes.size()));
  add_scores(measured, outcomes, baseline, seed);
  add_choices(measured, outcomes, baseline, seed);
  add_agreement(measured, outcomes, baseline);
  add_times(measured, outcomes, baseline);
  // A sample belongs to a question, so samples are no repetitions of one measurement.
  for (const auto& [name, samples] : measured.samples)
    measured.metrics.at(name).is_population = true;
}

}  // namespace reprise::experiments
