// Means over the values of an axis, as rows of tables: a paper's average over its data sets.
#pragma once

#include <string>
#include <vector>

#include "results/folder.h"

namespace reprise::results {

// The setting that a mean has in place of the axis' values.
inline constexpr const char* kMeanSetting = "mean";

// One record for each group of records that differ only in the axis `mean_over`: the means of the
// metrics that all of them have, without spread, at the setting kMeanSetting. Ends of intervals
// have no mean, and speedup_degradation is computed from the means. A group that lacks a value of
// the axis has no mean. Empty if mean_over is "" or the axis has one value.
[[nodiscard]] std::vector<Record> means_of(const ResultsFolder& folder);

}  // namespace reprise::results
