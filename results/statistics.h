// What a set of timing samples says: median, quartiles and range.
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

// Samples in any order; at least one, all finite (CHECK).
Summary summarize(std::span<const double> samples);

// {"value": median, "unit": ..., "min", "max", "q1", "q3", "iqr", "count"}: a metric of a record.
Json metric_json(const Summary& summary, const std::string& unit);
// True where the quartiles of a sampled metric lie more than kNoisyShare of its median apart: a
// busy or throttled machine.
inline constexpr double kNoisyShare = 0.25;
bool is_noisy(const Json& metric);

// A metric that is one number.
Json metric_json(double value, const std::string& unit);

}  // namespace reprise::results
