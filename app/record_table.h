// The records of a run as a table: for the terminal, and for other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "results/folder.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

enum class TableFormat : uint8_t { kTable, kCsv, kMarkdown, kJson };

struct TableOptions {
  std::string format = "table";  // as --format spells it
  std::string metrics;           // "a,b", "all", or "": the experiment's, as many as fit
  size_t columns = 120;          // of the terminal
};

// Adds --format and --metrics, read into `options`, which must outlive the command line.
void add_table_options(CLI::App& command, TableOptions& options);

// Throws Error for a word that is no format, with the nearest.
TableFormat parse_table_format(const std::string& name);

struct RecordTable {
  std::string data;   // as the format wants it, complete in itself
  std::string notes;  // sentences below it, broken at the width
};

// One row for each record: the settings that vary, the method, and metrics, "median (first to third
// quartile)" where there are samples, with a star where they are noisy, "too few" where they do not
// support a percentile. Beside a metric stands what
// the papers give for it at the same settings. As a table, it has the metrics of the experiment
// that fit the width, the most telling first, and names the others; those that are asked for are
// all shown, in several tables below one another where they do not fit. Quartiles are left out
// where one metric is too wide with them. CSV and JSON have medians and quartiles apart and every
// metric of the experiment. Throws Error for a metric that no record has, with the nearest.
//
// The notes: a line for each method that is less exact than it promises and for each INVALID run,
// what the star means, which methods were left out, which points are missing, and where the paper's
// numbers are from.
RecordTable record_table(const results::ResultsFolder& folder, const TableOptions& options = {});

// Prints the data to standard output, and the notes below it, or to standard error where standard
// output is for another program.
void print_table(const RecordTable& table, const TableOptions& options);

// A line for each reason why methods of the experiment were not measured; "" where all were.
std::string left_out_note(const Json& manifest);

// A line for each group of points that was skipped for want of memory, with its need; of many, the
// first and how many more. `skipped` are entries of results::read_skipped(). "" where there is
// none.
std::string skipped_note(const std::vector<Json>& skipped);

// The same for points that nobody has measured or skipped yet.
std::string missing_note(const std::vector<results::MissingPoints>& missing);

// Where the papers' numbers beside these metrics are from, a line for each source, and which file
// of them is not there. `papers` are results::paper_points().
std::string paper_notes(const Json& manifest, const Json& papers,
                        const std::vector<std::string>& metrics);

}  // namespace reprise::app
