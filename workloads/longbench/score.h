// Predictions for a LongBench dataset and their scores, as the official eval.py computes them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/longbench/datasets.h"
#include "workloads/longbench/similarity.h"

namespace reprise::workloads::longbench {

struct Prediction {
  std::string text;                  // the answer that a model gave
  std::vector<std::string> answers;  // at least one; the best match counts
  std::vector<std::string> classes;  // of a classification
  std::optional<int64_t> length;     // Sample::length
};

// The lines that the official pred.py writes: pred, answers, all_classes, length; an _id may be
// there. Throws Error with file and line as load_samples().
std::vector<Prediction> load_predictions(const std::filesystem::path& path);

struct ScoreOptions {
  LineMatcher line_matcher = LineMatcher::kDifflib;
  // Whether ROUGE-L of texts too long for Python's recursion is 0, as it officially is (rouge.h).
  bool is_rouge_limited = true;
  std::string jieba_python;  // empty: find_jieba_python(), for the Chinese datasets alone
};

// From 0 to 1 each: the best over the answers. Throws Error for a prediction that lacks what the
// metric takes (classes, "Paragraph N" in an answer), naming its place from 1, and where jieba is
// needed and absent.
std::vector<double> score(const Dataset& dataset, std::span<const Prediction> predictions,
                          const ScoreOptions& options = {});

// The mean in percent with two digits, as the official result files have it; "-" for no scores.
std::string mean_percent(std::span<const double> scores);

// The scores of LongBench-E's three groups: lengths below 4,000, below 8,000, and longer ones.
// Throws Error where a prediction has no length.
std::array<std::vector<double>, 3> by_length(std::span<const Prediction> predictions,
                                             std::span<const double> scores);

}  // namespace reprise::workloads::longbench
