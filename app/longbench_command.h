// `reprise longbench score`: the official scores of predictions, whoever made them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace reprise::app {

struct LongBenchScoreOptions {
  std::vector<std::string> files = {};  // predictions as the official pred.py writes them
  std::string dataset = {};             // of all files; empty: each file's name up to the first dot
  bool is_levenshtein = false;          // code is compared as with python-Levenshtein
  bool is_unlimited = false;            // no 0 for what Python's recursion limit stops
  bool has_lengths = false;             // the three groups of LongBench-E, too
  bool has_items = false;               // a JSON object for each prediction in place of the table
};

// Writes a line for each file: dataset, metric, number of predictions, mean in percent; or with
// `has_items` a line {"dataset", "item", "score"} for each prediction, items counted from 1 and
// scores from 0 to 1. All files are read before the first is scored. Throws Error naming the file.
void run_longbench_score(const LongBenchScoreOptions& options, std::ostream& out);

// Adds the subcommand, on standard output; errors are thrown from app.parse().
void add_longbench_command(CLI::App& app);

}  // namespace reprise::app
