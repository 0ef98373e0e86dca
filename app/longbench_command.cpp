// Reads prediction files, scores them and prints the scores.
#include "app/longbench_command.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>

#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/score.h"

namespace reprise::app {
namespace {

namespace longbench = workloads::longbench;

struct ScoredFile {
  std::string path;
  const longbench::Dataset* dataset = nullptr;
  std::vector<longbench::Prediction> predictions;
};

ScoredFile load(const std::string& path, const std::string& dataset) {
  if (!dataset.empty())
    return {path, &longbench::find_dataset(dataset), longbench::load_predictions(path)};
  const std::string file = std::filesystem::path(path).filename().string();
  const longbench::Dataset* found = nullptr;
  try {
    found = &longbench::find_dataset(file.substr(0, file.find('.')));
  } catch (const Error& error) {
    raise("{}: a file is named after its dataset, unless --dataset tells it: {}", path,
          error.what());
  }
  return {path, found, longbench::load_predictions(path)};
}

std::vector<double> scores_of(const ScoredFile& file, const LongBenchScoreOptions& options) {
  try {
    return longbench::score(
        *file.dataset, file.predictions,
        {.line_matcher = options.is_levenshtein ? longbench::LineMatcher::kLevenshtein
                                                : longbench::LineMatcher::kDifflib,
         .is_rouge_limited = !options.is_unlimited});
  } catch (const Error& error) {
    raise("{}: {}", file.path, error.what());
  }
}

void write_items(const ScoredFile& file, const std::vector<double>& scores, std::ostream& out) {
  for (size_t i = 0; i < scores.size(); ++i)
    out << json_text(Fields{
               {"dataset", std::string(file.dataset->name)}, {"item", i + 1}, {"score", scores[i]}})
        << '\n';
}

// " MEAN MEAN MEAN" of the three groups of lengths.
std::string means_by_length(const ScoredFile& file, const std::vector<double>& scores) {
  std::string means;
  try {
    for (const std::vector<double>& group : longbench::by_length(file.predictions, scores))
      means += fmt::format("  {:>6}", longbench::group_percent(group));
  } catch (const Error& error) {
    raise("{}: {}. Leave out --lengths", file.path, error.what());
  }
  return means;
}

void write_summary(const ScoredFile& file, const std::vector<double>& scores, bool has_lengths,
                   std::ostream& out) {
  const std::string means = has_lengths ? means_by_length(file, scores) : "";
  out << fmt::format("{:<20}  {:<20}  {:>6}  {:>6}{}\n", file.dataset->name,
                     longbench::metric_name(file.dataset->metric), scores.size(),
                     longbench::mean_percent(scores), means);
}

void write_heading(bool has_lengths, std::ostream& out) {
  out << fmt::format("{:<20}  {:<20}  {:>6}  {:>6}", "dataset", "metric", "items", "score");
  if (has_lengths) out << fmt::format("  {:>6}  {:>6}  {:>6}", "0-4k", "4-8k", "8k+");
  out << '\n';
}

}  // namespace

void run_longbench_score(const LongBenchScoreOptions& options, std::ostream& out) {
  std::vector<ScoredFile> files;
  for (const std::string& path : options.files) files.push_back(load(path, options.dataset));
  for (const ScoredFile& file : files) {
    const std::vector<double> scores = scores_of(file, options);
    if (options.has_items) {
      write_items(file, scores, out);
    } else {
      if (&file == files.data()) write_heading(options.has_lengths, out);
      write_summary(file, scores, options.has_lengths, out);
    }
    if (!out) throw OutputError(errno);
  }
  out.flush();
  if (!out) throw OutputError(errno);
}

void add_longbench_command(CLI::App& app) {
  CLI::App* group = app.add_subcommand("longbench", "Score predictions for LongBench's datasets");
  group->require_subcommand(1);
  auto options = std::make_shared<LongBenchScoreOptions>();
  CLI::App* command = group->add_subcommand(
      "score", "Print the official scores of prediction files (pred, answers, all_classes a line)");
  command->add_option("files", options->files, "JSON lines, each file named after its dataset")
      ->required()
      ->check(not_empty());
  command->add_option("--dataset", options->dataset, "the dataset of all files")
      ->check(not_empty());
  command->add_flag("--levenshtein", options->is_levenshtein,
                    "compare code as fuzzywuzzy does where python-Levenshtein is installed");
  command->add_flag("--no-recursion-limit", options->is_unlimited,
                    "score texts that the official ROUGE-L gives 0 because Python's recursion "
                    "limit stops it");
  CLI::Option* lengths =
      command->add_flag("--lengths", options->has_lengths,
                        "also the mean scores of lengths below 4,000, below 8,000 and above");
  command
      ->add_flag("--items", options->has_items,
                 "one JSON object for each prediction in place of the table")
      ->excludes(lengths);
  command->callback([options] { run_longbench_score(*options, std::cout); });
}

}  // namespace reprise::app
