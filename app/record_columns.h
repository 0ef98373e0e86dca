// Columns of a table of records, for the terminal and for a page: the settings that distinguish the
// table's rows, the headings, and the texts of the cells.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::app {

// Returns a string without quotes, and any other value as JSON.
[[nodiscard]] std::string cell_text(const Value& value);

// Returns the requested setting `key` of a record as text; "null" if the record does not have it.
// For the key "method", returns the label that the experiment gives the method, if any.
[[nodiscard]] std::string setting_text(const results::Record& record, const std::string& key);

// Returns the keys of the settings that take several values in these records, then the key of the
// method, then the key of the method's options if these vary and some record has no label.
[[nodiscard]] std::vector<std::string> key_columns(const std::vector<results::Record>& records,
                                                   const results::Manifest& manifest);

// All metrics that any record has, the experiment's own first.
[[nodiscard]] std::vector<std::string> all_metrics(const results::ResultsFolder& folder);

// The heading of a metric: its name, and its unit if the name does not show it. heading_of() takes
// the unit from the first record that has the metric.
[[nodiscard]] std::string heading_of(const std::vector<results::Record>& records,
                                     const std::string& name);
[[nodiscard]] std::string heading_in(const results::Record& record, const std::string& name);

// Returns a cell such as "1.20 (1.19 to 1.22) *": the median, the quartiles if `has_spread`, and a
// star if is_starred(). A metric without quartiles is shown as its value alone, without a star. The
// cell is "too few" if there are too few samples for a percentile, and "-" if the metric was not
// measured.
[[nodiscard]] std::string metric_text(const results::Record& record, const std::string& name,
                                      bool has_spread);

// True if a metric is noisy or other programs took CPU time while it was measured.
[[nodiscard]] bool is_starred(const results::Metric& metric);

}  // namespace reprise::app
