// The records of a run as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::app {

// One row for each record: the settings that vary, the method, and the metrics that the manifest
// lists
// ("median (first to third quartile)" where there are samples, with a star where they are noisy),
// a line for each method that is less exact than it promises, and footnotes. Beside a metric stands
// what the paper gives for it, where the manifest names a file of results/papers/ with numbers at
// the same settings.
std::string record_table(const std::vector<Json>& records, const Json& manifest);

// A line for each reason why methods of the experiment were not measured; "" where all were.
std::string left_out_note(const Json& manifest);

}  // namespace reprise::app
