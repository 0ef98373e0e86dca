// Summaries of timing samples: median, quartiles, range and tail percentiles.
#pragma once

#include <span>

#include "results/metric.h"

namespace reprise::results {

struct Summary : Spread {
  double median = 0;
};

// Returns the value below which `share` (0..1) of the samples lie: position share * (n - 1) of the
// sorted list, linear between its neighbours. `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double share);

// Takes samples in any order; at least one, all finite (CHECK).
Summary summarize(std::span<const double> samples);

// Returns a metric of samples with this summary.
Metric metric_of(const Summary& summary, const std::string& unit);
// Adds the percentiles of kPercentiles that have enough samples, interpolated as in quantile(), and
// names the remaining percentiles in Metric::too_few_for.
void add_percentiles(std::span<const double> samples, Metric& metric);
// is_noisy() is true if the quartiles of repeated samples of the same work differ by more than
// kNoisyShare of the median: a sign that the machine was busy or throttled.
inline constexpr double kNoisyShare = 0.25;
bool is_noisy(const Metric& metric);

// Returns the mark of a metric with `taken` pieces of timed work. `disturbed` of them lost their
// cores to other programs even when repeated; `retaken` tries were dropped. Returns nullopt if
// `disturbed` is 0 and `retaken` is below taken / 2. If more tries were dropped, other programs
// also took caches and clock speed from the kept pieces.
std::optional<Disturbed> disturbed_mark(int64_t disturbed, int64_t taken, int64_t retaken);

}  // namespace reprise::results
