// Means over the values of an axis, for rows of tables such as a paper's average over its data
// sets.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::results {

// The value that a mean's record has for the averaged axis.
inline constexpr const char* kMeanSetting = "mean";

// Returns one record for each group of records that differ only in the axis `mean_over`. It has the
// means of the metrics that all records of the group have, without spread, and kMeanSetting as the
// axis' value. Ends of intervals have no mean, and speedup_degradation is computed from the means.
// A group that lacks a value of the axis or has an INVALID run has no mean, and a speed-up over an
// INVALID run is in no mean. Empty if mean_over is "" or the axis has one value.
[[nodiscard]] std::vector<Record> means_of(const ResultsFolder& folder);

}  // namespace reprise::results
