// The records of a run as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::app {

// One row for each record: the settings that vary, the method, and the metrics that the manifest
// lists
// ("median (first to third quartile)" where there are samples, with a star where they are noisy),
// and footnotes.
std::string record_table(const std::vector<Json>& records, const Json& manifest);

}  // namespace reprise::app
