// What the plot scripts draw: one checked document, so that they read no folder and decide nothing.
#pragma once

#include "results/folder.h"

namespace reprise::results {

// {source, run, records, papers, skipped, missing}: the folder's manifest with the titles and the
// note filled from the points that each figure draws, its records without their samples, what the
// papers give for these points ([{source, hardware, label, points: {point: {metric: {value,
// unit}}}}]), and how many points were skipped and are missing. Throws Error for a placeholder or a
// paper's name that nobody knows.
[[nodiscard]] Json figures_document(const ResultsFolder& folder);

}  // namespace reprise::results
