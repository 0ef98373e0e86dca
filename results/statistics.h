// Summaries of timing samples: median, quartiles, range and tail percentiles.
#pragma once

#include <span>

#include "core/base/json.h"

namespace reprise::results {

struct Summary {
  int64_t count = 0;
  double median = 0, min = 0, max = 0;
  double q1 = 0, q3 = 0;  // quartiles
  [[nodiscard]] double iqr() const { return q3 - q1; }
};

// Returns the value below which `share` (0..1) of the samples lie: position share * (n - 1) of the
// sorted list, linear between its neighbours. `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double share);

// A tail percentile of a metric: its key in a record, and the share of samples below it.
struct Percentile {
  const char* name;
  double share;

  // Fewest samples for which the largest lies above the true percentile with 95 % confidence,
  // share^n <= 0.05: 5, 29, 59, 299 and 2995 for those below. With fewer, the printed number would
  // only be the largest sample.
  [[nodiscard]] int64_t least_samples() const;
};
inline constexpr Percentile kPercentiles[] = {
    {"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

// Takes samples in any order; at least one, all finite (CHECK).
Summary summarize(std::span<const double> samples);

// Returns a record's metric: {"value": median, "unit": ..., "min", "max", "q1", "q3", "iqr",
// "count"}.
Json metric_json(const Summary& summary, const std::string& unit);
// Adds those of kPercentiles that have enough samples, interpolated as in quantile(). "too_few_for"
// names the others, so that nobody thinks they were forgotten.
void add_percentiles(std::span<const double> samples, Json& metric);
// Marks a metric whose samples are of different things, such as requests of all lengths; their
// spread is then a result, not noise.
void mark_population(Json& metric);
// True if a sampled metric of one repeated thing has quartiles more than kNoisyShare of its median
// apart: the machine was busy or throttled.
inline constexpr double kNoisyShare = 0.25;
bool is_noisy(const Json& metric);

// Returns a metric's "disturbed": `disturbed` of the `taken` pieces of work lost their cores to
// other programs even when repeated, and `retaken` tries were dropped for that. Null if no piece
// lost its core and fewer than one try per two pieces was dropped; above that, caches and clock
// were shared even though the pieces that count kept their cores.
Json disturbed_json(int64_t disturbed, int64_t taken, int64_t retaken);
bool is_disturbed(const Json& metric);

// Returns a metric that is one number.
Json metric_json(double value, const std::string& unit);

}  // namespace reprise::results
