// Scores predictions for a LongBench dataset as the official eval.py does.
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
  std::string text;                  // the model's answer
  std::vector<std::string> answers;  // at least one; the best match counts
  std::vector<std::string> classes;  // the classes of a classification set
  std::optional<int64_t> length;     // Sample::length
};

// Reads the lines that the official pred.py writes: pred, answers, all_classes, length, and
// optionally _id. Throws Error with file and line as load_samples() does.
std::vector<Prediction> load_predictions(const std::filesystem::path& path);

struct ScoreOptions {
  LineMatcher line_matcher = LineMatcher::kDifflib;
  // ROUGE-L of texts too long for Python's recursion is 0, as in the official program (rouge.h).
  bool is_rouge_limited = true;
  // The Python that runs jieba, used only for Chinese datasets; empty: find_jieba_python().
  std::string jieba_python;
};

// Returns for each prediction its best score over its answers, from 0 to 1. Throws Error, with the
// prediction's number counted from 1, if the prediction lacks what the metric needs: classes, or
// "Paragraph N" in an answer. Throws Error if jieba is needed and not installed.
std::vector<double> score(const Dataset& dataset, std::span<const Prediction> predictions,
                          const ScoreOptions& options = {});

// Returns the mean in percent with two digits, as in the official result files; "-" without scores.
std::string mean_percent(std::span<const double> scores);

// Returns the mean of a group of LongBench-E in the form of mean_percent(). For groups, the
// official program sums in numpy's order and divides before it multiplies by 100, so the last digit
// may differ from mean_percent().
std::string group_percent(std::span<const double> scores);

// Splits the scores into LongBench-E's groups by length: below 4,000, below 8,000, and longer.
// Throws Error if a prediction has no length.
std::array<std::vector<double>, 3> by_length(std::span<const Prediction> predictions,
                                             std::span<const double> scores);

}  // namespace reprise::workloads::longbench
