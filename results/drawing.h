// What the plot scripts draw: one checked document, so that they read no folder and decide nothing.
#pragma once

#include "results/folder.h"

namespace reprise::results {

// The manifest's caption {title, paper, figure, note}, its title and note filled from all records.
// Throws Error for a placeholder that nobody knows.
[[nodiscard]] Json filled_caption(const ResultsFolder& folder);

// {source, run, records, papers, skipped, missing}: the folder's manifest with the titles and the
// note filled from the points that each figure draws, its records without their samples and with
// "invalid" (see results/run_validity.h) where their run does not count, what the
// papers give for these points ([{source, hardware, label, points: {point: {metric: {value,
// unit}}}}]), and how many points were skipped and are missing. Throws Error for a placeholder or a
// paper's name that nobody knows.
[[nodiscard]] Json figures_document(const ResultsFolder& folder);

}  // namespace reprise::results
