// `reprise longbench score`: the official scores of predictions from any program.
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
  std::string dataset = {};     // dataset of all files; "": named by each file, up to its first dot
  bool is_levenshtein = false;  // compare code as with the package python-Levenshtein
  bool is_unlimited = false;    // false: texts beyond Python's recursion limit score 0
  bool has_lengths = false;     // also print the three length groups of LongBench-E
  bool has_items = false;       // print a JSON object for each prediction instead
};

// Writes a line for each file: dataset, metric, number of predictions, mean score in percent. With
// `has_items`, writes a line {"dataset", "item", "score"} for each prediction instead, with items
// counted from 1 and scores from 0 to 1. All files are read before the first is scored. Errors name
// the file.
void run_longbench_score(const LongBenchScoreOptions& options, std::ostream& out);

// Adds the subcommand, which writes to standard output. Its errors are thrown from app.parse().
void add_longbench_command(CLI::App& app);

}  // namespace reprise::app
