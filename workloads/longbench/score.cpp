#include "workloads/longbench/score.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "workloads/json_lines.h"
#include "workloads/longbench/metrics.h"
#include "workloads/longbench/rouge.h"
#include "workloads/longbench/words.h"

namespace reprise::workloads::longbench {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : " ") + words[i];
  return text;
}

RougeOptions rouge_options(Metric metric, const ScoreOptions& options) {
  if (!options.is_rouge_limited) return {.most_calls = 0};
  // The official rouge_zh_score is one more nested call, so one call less is left for the walk.
  return {.most_calls = RougeOptions{}.most_calls - (metric == Metric::kRougeZh ? 1 : 0)};
}

std::string scored_text(const Dataset& dataset, const Prediction& prediction) {
  return dataset.is_first_line_scored ? first_line(prediction.text) : prediction.text;
}

double score_words(Metric metric, const Words& prediction, const Words& answer,
                   const ScoreOptions& options) {
  if (metric == Metric::kQaF1Zh) return qa_f1_zh(prediction, answer);
  return rouge_l(joined(prediction), joined(answer), rouge_options(metric, options));
}

double score_text(const Dataset& dataset, const Prediction& prediction, const std::string& text,
                  const std::string& answer, const ScoreOptions& options) {
  switch (dataset.metric) {
    case Metric::kQaF1:
      return qa_f1(text, answer);
    case Metric::kRouge:
      return rouge_l(text, answer, rouge_options(dataset.metric, options));
    case Metric::kClassification:
      if (prediction.classes.empty())
        raise("{} is scored by its classes, and \"all_classes\" is empty", dataset.name);
      return classification(text, answer, prediction.classes);
    case Metric::kRetrieval:
      return retrieval(text, answer);
    case Metric::kRetrievalZh:
      return retrieval_zh(text, answer);
    case Metric::kCount:
      return count(text, answer);
    case Metric::kCodeSimilarity:
      return code_similarity(text, answer, options.line_matcher);
    case Metric::kQaF1Zh:
    case Metric::kRougeZh:
      break;  // handled by score_words()
  }
  REPRISE_CHECK(false, "{}", metric_name(dataset.metric));
  return 0;
}

// Scores predictions by words. Sends all texts to jieba at once: each prediction followed by its
// answers.
std::vector<double> score_by_words(const Dataset& dataset, std::span<const Prediction> predictions,
                                   const ScoreOptions& options) {
  std::vector<std::string> texts;
  for (const Prediction& prediction : predictions) {
    texts.push_back(scored_text(dataset, prediction));
    texts.insert(texts.end(), prediction.answers.begin(), prediction.answers.end());
  }
  const std::vector<Words> words = cut_words(texts, options.jieba_python);
  std::vector<double> scores;
  size_t next = 0;
  for (const Prediction& prediction : predictions) {
    const Words& predicted = words[next++];
    double best = 0;
    for (size_t i = 0; i < prediction.answers.size(); ++i)
      best = std::max(best, score_words(dataset.metric, predicted, words[next++], options));
    scores.push_back(best);
  }
  return scores;
}

double best_score(const Dataset& dataset, const Prediction& prediction,
                  const ScoreOptions& options) {
  const std::string text = scored_text(dataset, prediction);
  double best = 0;
  for (const std::string& answer : prediction.answers)
    best = std::max(best, score_text(dataset, prediction, text, answer, options));
  return best;
}

}  // namespace

std::vector<Prediction> load_predictions(const std::filesystem::path& path) {
  std::vector<Prediction> predictions;
  for_each_line(path, [&](JsonObject& line) {
    Prediction prediction;
    prediction.text = line.string("pred");
    prediction.answers = answers_of(line, "answers");
    if (line.has("all_classes")) prediction.classes = texts_of(line, "all_classes");
    if (line.has("length")) prediction.length = line.integer_in("length", 0, INT64_MAX);
    line.allow({"_id"});
    predictions.push_back(std::move(prediction));
  });
  return predictions;
}

std::vector<double> score(const Dataset& dataset, std::span<const Prediction> predictions,
                          const ScoreOptions& options) {
  if (takes_words(dataset.metric)) return score_by_words(dataset, predictions, options);
  std::vector<double> scores;
  for (const Prediction& prediction : predictions) {
    try {
      scores.push_back(best_score(dataset, prediction, options));
    } catch (const Error& error) {
      raise("prediction {}: {}", scores.size() + 1, error.what());
    }
  }
  return scores;
}

std::string mean_percent(std::span<const double> scores) {
  if (scores.empty()) return "-";
  double total = 0;
  for (const double value : scores) total += value;
  return fmt::format("{:.2f}", 100 * total / static_cast<double>(scores.size()));
}

namespace {

// The sum in the order of numpy's np.sum, which the official program uses.
double numpy_sum(std::span<const double> values) {
  constexpr size_t kLanes = 8, kBlock = 128;
  if (values.size() > kBlock) {
    const size_t half = values.size() / 2 / kLanes * kLanes;
    return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
  }
  double total = 0;
  size_t i = 0;
  if (values.size() >= kLanes) {
    std::array<double, kLanes> r = {};
    for (; i + kLanes <= values.size(); i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) r[lane] += values[i + lane];
    total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  }
  for (; i < values.size(); ++i) total += values[i];
  return total;
}

}  // namespace

std::string group_percent(std::span<const double> scores) {
  if (scores.empty()) return "-";
  // As numpy does, rounds percent * 100 to a whole number. fmt alone would round the decimal digits
  // of percent.
  const double percent = 100 * (numpy_sum(scores) / static_cast<double>(scores.size()));
  return fmt::format("{:.2f}", std::nearbyint(percent * 100) / 100);
}

std::array<std::vector<double>, 3> by_length(std::span<const Prediction> predictions,
                                             std::span<const double> scores) {
  REPRISE_CHECK(predictions.size() == scores.size(), "{} {}", predictions.size(), scores.size());
  std::array<std::vector<double>, 3> groups;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!predictions[i].length.has_value())
      raise("prediction {} has no \"length\", by which it would be put into a group", i + 1);
    const int64_t length = *predictions[i].length;
    groups[length < 4000 ? 0 : length < 8000 ? 1 : 2].push_back(scores[i]);
  }
  return groups;
}

}  // namespace reprise::workloads::longbench
