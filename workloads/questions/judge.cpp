#include "workloads/questions/judge.h"

#include <map>

#include "core/base/error.h"
#include "workloads/longbench/score.h"

namespace reprise::workloads::questions {
namespace {

// Scores the items of one dataset one by one, so that an error names the item instead of an index
// in a list.
std::vector<double> scores_of_dataset(const longbench::Dataset& dataset,
                                      std::span<const Item* const> items,
                                      std::span<const longbench::Prediction> predictions) {
  if (takes_words(dataset.metric)) return longbench::score(dataset, predictions);
  std::vector<double> scores;
  for (size_t i = 0; i < items.size(); ++i) {
    try {
      scores.push_back(longbench::score(dataset, predictions.subspan(i, 1)).front());
    } catch (const Error& error) {
      raise("question {}: {}", items[i]->id, error.what());
    }
  }
  return scores;
}

}  // namespace

std::vector<double> scores_of(std::span<const Item> items, std::span<const std::string> generated) {
  REPRISE_CHECK(items.size() == generated.size(), "{} answers to {} questions", generated.size(),
                items.size());
  std::vector<double> scores(items.size());
  std::map<std::string, std::vector<size_t>> of_dataset;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].judgement == Judgement::kLongBench)
      of_dataset[items[i].task].push_back(i);
    else
      scores[i] = is_right(items[i], generated[i]) ? 1 : 0;
  for (const auto& [name, places] : of_dataset) {
    std::vector<const Item*> of_it;
    std::vector<longbench::Prediction> predictions;
    for (const size_t i : places) {
      of_it.push_back(&items[i]);
      predictions.push_back({.text = generated[i],
                             .answers = items[i].answers,
                             .classes = items[i].classes,
                             .length = {}});
    }
    const std::vector<double> of_these =
        scores_of_dataset(longbench::find_dataset(name), of_it, predictions);
    for (size_t i = 0; i < places.size(); ++i) scores[places[i]] = of_these[i];
  }
  return scores;
}

// Scores each item's first answer as if it were the generated text, since whether an item can be
// scored does not depend on that text.
void check_scorable(std::span<const Item> items) {
  std::vector<std::string> answers;
  for (const Item& item : items) answers.push_back(item.answers.front());
  (void)scores_of(items, answers);
}

}  // namespace reprise::workloads::questions
