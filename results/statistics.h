// What a set of timing samples says: median, quartiles, range, and the percentiles of its tail.
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

// Value below which `share` (0..1) of the samples lie, linear between the two nearest order
// statistics: position share * (n - 1) of the sorted list. `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double share);

// A percentile of a metric's tail: its key in a record, and the share of the samples below it.
struct Percentile {
  const char* name;
  double share;

  // Samples that it takes at least: so many that the largest of them lies above the true percentile
  // with 95 % confidence, share^n <= 0.05. With fewer, the number printed would be the largest
  // sample under another name.   (5, 29, 59, 299 and 2995 of those below)
  [[nodiscard]] int64_t least_samples() const;
};
inline constexpr Percentile kPercentiles[] = {
    {"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

// Samples in any order; at least one, all finite (CHECK).
Summary summarize(std::span<const double> samples);

// {"value": median, "unit": ..., "min", "max", "q1", "q3", "iqr", "count"}: a metric of a record.
Json metric_json(const Summary& summary, const std::string& unit);
// Adds to a metric those of kPercentiles that so many samples support, each interpolated as in
// quantile(). The others are left out; "too_few_for" names them, so that nobody takes them for
// forgotten.
void add_percentiles(std::span<const double> samples, Json& metric);
// Notes in a metric that its samples are of different things, such as requests of all lengths, so
// that their spread is what was to be measured.
void mark_population(Json& metric);
// True where the quartiles of a sampled metric, of the same thing measured again and again, lie
// more than kNoisyShare of its median apart: a busy or throttled machine.
inline constexpr double kNoisyShare = 0.25;
bool is_noisy(const Json& metric);

// A metric's "disturbed": so many of the `taken` pieces of work it comes from lost their cores to
// other programs, also when they were done again; and so many tries were dropped for it. Null where
// neither says that another program was there: no piece lost its core, and fewer tries than one for
// two pieces were dropped. Where more were, the pieces that count kept their cores, but shared
// caches and clock.
Json disturbed_json(int64_t disturbed, int64_t taken, int64_t retaken);
bool is_disturbed(const Json& metric);

// A metric that is one number.
Json metric_json(double value, const std::string& unit);

}  // namespace reprise::results
