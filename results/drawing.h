// Makes the document that the plot scripts draw. The document is checked and complete, so the
// scripts read no results folder and decide nothing.
#pragma once

#include "results/folder.h"
#include "results/paper_numbers.h"

namespace reprise::results {

// Returns the manifest's caption; title and note are filled from all records. Throws Error for an
// unknown placeholder.
[[nodiscard]] Caption filled_caption(const ResultsFolder& folder);

// Returns {source, run, records, papers, skipped, missing}. `run` is the manifest with titles and
// note filled from the points of each figure. Records keep only samples that a timeline draws, and
// get "invalid" (the reason) or "reservations" from run_validity(), and "invalid_speedup" from
// invalid_speedup_remark(). `papers` is paper_points();
// `skipped` and `missing` count points. Throws Error for an unknown placeholder or paper, and for a
// record that a figure cannot place on its axes.
[[nodiscard]] Fields figures_document(const ResultsFolder& folder);
// Like figures_document() above, for a caller that already has `papers` = papers_beside(folder).
[[nodiscard]] Fields figures_document(const ResultsFolder& folder,
                                      const std::vector<PaperPoints>& papers);

// Reads the papers' numbers that the manifest names, and returns the numbers that belong to the
// folder's records. Throws Error for an unknown paper.
[[nodiscard]] std::vector<PaperPoints> papers_beside(const ResultsFolder& folder);

}  // namespace reprise::results
