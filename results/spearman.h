// Spearman's rank correlation, for similarities of sentence pairs against people's scores.
#pragma once

#include <span>
#include <vector>

#include "results/bootstrap.h"
#include "results/proportion.h"

namespace reprise::results {

// Returns the rank of each value in ascending order, from 1; equal values share the mean rank.
[[nodiscard]] std::vector<double> mean_ranks(std::span<const double> values);

// Pearson's correlation of the mean_ranks() of x and y, in [-1, 1]. Returns 0 if x or y has only
// equal values. Both lists have the same length, at least 2, and finite values (CHECK).
[[nodiscard]] double spearman(std::span<const double> x, std::span<const double> y);

// BCa interval (results/bootstrap.h) of spearman(x, y): pairs are drawn with replacement and ranked
// anew. The acceleration comes from the correlations with one pair left out. Takes time
// proportional to pairs x (resamples + pairs). The interval is a point if x or y has only equal
// values. At least two pairs (CHECK).
[[nodiscard]] Interval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                                          const BootstrapOptions& options = {.resamples = 2000});

}  // namespace reprise::results
