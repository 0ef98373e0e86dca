// The records of a run as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::app {

// One row for each record: the settings that vary, the method, and the metrics that the manifest
// lists
// ("median (first to third quartile)" where there are samples, with a star where they are noisy;
// "too few" where they do not support a percentile),
// a line for each method that is less exact than it promises, and footnotes. Beside a metric stands
// what the paper gives for it, where the manifest names a file of results/papers/ with numbers at
// the same settings.
std::string record_table(const std::vector<Json>& records, const Json& manifest);

// A line for each reason why methods of the experiment were not measured; "" where all were.
std::string left_out_note(const Json& manifest);

// A line for each group of points that was skipped for want of memory, with its need; of many, the
// first and how many more. `skipped` are entries of results::read_skipped(). "" where there is
// none.
std::string skipped_note(const std::vector<Json>& skipped);

}  // namespace reprise::app
