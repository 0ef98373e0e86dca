// How far two lists of numbers are in one order: similarities of sentence pairs against people's.
#pragma once

#include <span>
#include <vector>

#include "results/bootstrap.h"
#include "results/proportion.h"

namespace reprise::results {

// The place of each value in ascending order, from 1; equal values share the mean of their places.
[[nodiscard]] std::vector<double> mean_ranks(std::span<const double> values);

// Spearman's rank correlation: Pearson's, of the mean_ranks(). In [-1, 1]; 0 where the values of
// either list are all equal, which orders nothing. Lists of one length >= 2, all finite (CHECK).
[[nodiscard]] double spearman(std::span<const double> x, std::span<const double> y);

// Interval of spearman(x, y) by bootstrap_mean()'s method: pairs are drawn with replacement, and
// the acceleration is that of the correlation with one pair left out. Takes pairs x (resamples +
// pairs) steps. Ranks are made anew for each sample. At least two pairs (CHECK); a point where
// either list is of equal values.
[[nodiscard]] Interval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                                          const BootstrapOptions& options = {.resamples = 2000});

}  // namespace reprise::results
