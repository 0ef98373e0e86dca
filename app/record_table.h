// The records of a run as a table, for the terminal and for other programs.
//
// The table has one row for each record: the settings that vary, the method, and the metrics as
// metric_text() writes them (record_columns.h). The column after a metric shows papers' values at
// the same settings.
//
// The terminal's table shows the experiment's metrics that fit the width and names the other
// metrics. Metrics that the user asked for are all shown, if needed in several tables one below the
// other. Quartiles are left out if a metric's column would be too wide with them. CSV and JSON have
// medians and quartiles as separate numbers, for every metric of the experiment.
//
// If the experiment says so (mean_over), the last rows are the means over an axis, such as a
// paper's average over its data sets.
//
// The notes list each method that is less exact than it promises, each run of a serving experiment
// that is INVALID, with the reason, the reservations about VALID runs (experiments/serving),
// the meaning of the star, the methods that were left out, the missing points, and the sources of
// the papers' numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/folder.h"
#include "results/paper_numbers.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

enum class TableFormat : uint8_t { kTable, kCsv, kMarkdown, kJson };

struct TableOptions {
  std::string format = "table";  // a name of --format
  std::string metrics;           // "a,b", "all", or "" (the experiment's metrics that fit)
  size_t columns = 120;          // width of the terminal
  // Metrics that `metrics` may name although no record has them; their cells are then "-".
  std::vector<std::string> known = {};
};

// Adds --format and --metrics, read into `options`, which must outlive the command line.
void add_table_options(CLI::App& command, TableOptions& options);

// Splits the value of --metrics: "a,b" becomes {"a", "b"}. Throws Error for an empty or repeated
// name, and, with the nearest name, for a metric that is not in `known` or an unknown percentile.
std::vector<std::string> named_metrics(const std::string& wanted,
                                       const std::vector<std::string>& known);

// Throws Error for a name that is not a format. The error gives the nearest format.
TableFormat parse_table_format(const std::string& name);

struct RecordTable {
  std::string data;   // the table in its format
  std::string notes;  // sentences below the table, wrapped to the width
};

// Returns the records in the format csv or json, as rows that can be understood alone: each row has
// its experiment, its machine and revision, and every setting, even if all rows have the same. The
// columns are the metrics that `options` names, or else all metrics that any record has. Throws
// Error for an unknown metric and for any other format.
std::string exported_rows(const results::ResultsFolder& folder, const TableOptions& options);

// The table of a results folder and its notes. Throws Error for a metric that neither a record nor
// `options.known` has, with the nearest name.
RecordTable record_table(const results::ResultsFolder& folder, const TableOptions& options = {});

// Prints the data to standard output. Prints the notes below it, or to standard error if the data
// is for another program.
void print_table(const RecordTable& table, const TableOptions& options);

// A line for each reason why methods of the experiment were not measured; "" if all methods were
// measured.
std::string left_out_note(const results::Manifest& manifest);

// Returns a line for each group of points that was skipped because it does not fit into memory,
// with the memory that the group needs; "" if there are none. At most 12 groups are shown, and
// further groups are counted. `skipped` comes from results::read_skipped().
std::string skipped_note(const std::vector<results::SkippedPoint>& skipped);

// A line for each combination of settings with points that were neither measured nor skipped. At
// most 12 lines are shown, as in skipped_note().
std::string missing_note(const std::vector<results::MissingPoints>& missing);

// Returns a line for each source of the papers' numbers that are shown beside `metrics`, and a line
// for each file of such a source that does not exist. `papers` comes from results::papers_beside().
std::string paper_notes(const results::Manifest& manifest,
                        const std::vector<results::PaperPoints>& papers,
                        const std::vector<std::string>& metrics);

}  // namespace reprise::app
