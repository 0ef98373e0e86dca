// What stands in a table of records, for the terminal and for a page: which settings tell its rows
// apart, what its columns are called, and the texts of its cells.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "results/folder.h"

namespace reprise::app {

// A text as it is, any other value as its JSON.
[[nodiscard]] std::string cell_text(const Json& value);

// A requested setting as text, a method by the name that its experiment gives it, where it does;
// "null" where the record has none of that name.
[[nodiscard]] std::string setting_text(const Json& record, const std::string& key);

// The settings that take several values in these records, the method last and always. `manifest` is
// as results::checked_manifest() gives it.
[[nodiscard]] std::vector<std::string> key_columns(const std::vector<Json>& records,
                                                   const Json& manifest);

// Every metric that any record has: the experiment's own first.
[[nodiscard]] std::vector<std::string> all_metrics(const results::ResultsFolder& folder);

// A metric's name, with its unit where the name does not say it: as the first record has it that
// has it, or as one record does.
[[nodiscard]] std::string heading_of(const std::vector<Json>& records, const std::string& name);
[[nodiscard]] std::string heading_in(const Json& record, const std::string& name);

// "1.20 (1.19 to 1.22) *": the median, with `has_spread` its quartiles, and the star of one that is
// noisy; "too few" where the samples do not support a percentile, "-" where nothing was measured.
[[nodiscard]] std::string metric_text(const Json& record, const std::string& name, bool has_spread);

// Whether a metric is noisy, or other programs took its cores.
[[nodiscard]] bool is_starred(const Json& metric);

// What a paper (an entry of results::paper_points()) gives for a record's metric, null where it
// gives nothing, and whether it gives the metric for any record.
[[nodiscard]] Json paper_value(const Json& paper, const Json& record, const std::string& name);
[[nodiscard]] bool paper_has(const Json& paper, const std::string& name);

}  // namespace reprise::app
