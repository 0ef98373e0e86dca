// A metric of a record: its value and unit, and what is known of its spread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/proportion.h"

namespace reprise::results {

// A tail percentile of a metric: its key in a record, and the share of samples below it.
struct Percentile {
  const char* name;
  double share;

  // Smallest number n of samples with share^n <= 0.05: 5, 29, 59, 299 and 2995 for kPercentiles.
  // The largest of n samples then lies above the true percentile with 95 % confidence. With fewer
  // samples it may well lie below, so no percentile is given.
  [[nodiscard]] int64_t least_samples() const;
};
inline constexpr Percentile kPercentiles[] = {
    {"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

// Range and quartiles of a metric's samples, whose median is its value.
struct Spread {
  double min = 0, max = 0, q1 = 0, q3 = 0;
  int64_t count = 0;  // number of samples

  [[nodiscard]] double iqr() const { return q3 - q1; }
  bool operator==(const Spread&) const = default;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("min", self.min);
    visitor.required("max", self.max);
    visitor.required("q1", self.q1);
    visitor.required("q3", self.q3);
    visitor.derived("iqr", self.iqr());
    visitor.required("count", self.count);
  }
};

// Samples that other programs disturbed by taking the cores. `of` is the number of samples in the
// metric. `count` of them were disturbed even when repeated. `retaken` is the number of disturbed
// tries that were dropped and repeated.
struct Disturbed {
  int64_t count = 0, of = 0;
  std::optional<int64_t> retaken;  // nullopt in older records, which lack it

  auto operator<=>(const Disturbed&) const = default;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("count", self.count);
    visitor.required("of", self.of);
    visitor.optional("retaken", self.retaken);
  }
};

struct Metric {
  double value = 0;  // the median, if the metric has samples
  std::string unit;
  std::optional<Spread> spread;               // only if the metric has samples
  std::map<std::string, double> percentiles;  // by name; see Percentile::least_samples()
  std::vector<std::string> too_few_for;       // percentiles for which there are too few samples
  // The probability with which the true value lies in `interval`, and each true percentile in its
  // interval of `intervals`.
  std::optional<double> confidence;
  std::optional<Interval> interval;
  std::map<std::string, Interval> intervals;  // intervals of percentiles, by name
  bool is_signed = false;                     // may be negative: a correlation, a loss
  // True if the samples are of different things, such as requests of all lengths; their spread is
  // then a result, not noise.
  bool is_population = false;
  std::optional<Disturbed> disturbed;

  bool operator==(const Metric&) const = default;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("value", self.value);
    visitor.required("unit", self.unit);
    visitor.among("min", self.spread);
    for (const Percentile& percentile : kPercentiles)
      visitor.entry(percentile.name, self.percentiles);
    visitor.optional("too_few_for", self.too_few_for);
    visitor.optional("confidence", self.confidence);
    visitor.optional("interval", self.interval);
    visitor.optional("intervals", self.intervals);
    visitor.optional("signed", self.is_signed);
    visitor.optional("population", self.is_population);
    visitor.optional("disturbed", self.disturbed);
  }
};

using Metrics = std::map<std::string, Metric>;

// The metric of this name; null if there is none.
[[nodiscard]] const Metric* find_metric(const Metrics& metrics, const std::string& name);

// Returns the fault of a metric in words: a unit that contradicts its name, a negative value,
// numbers out of order; "" if there is none.
[[nodiscard]] std::string metric_fault(const std::string& name, const Metric& metric);

}  // namespace reprise::results
