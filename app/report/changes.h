// Compares two results folders of one experiment point by point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checks/change.h"
#include "results/folder.h"

namespace reprise::app {

enum class ChangeVerdict : uint8_t {
  kWorse,
  kChanged,  // different, but the metric has no better direction (see better_of())
  // The interval does not decide, the samples are too few, or the ratio contradicts the interval.
  // If the interval lies within the margin, a ratio outside the interval contradicts it. If it lies
  // beyond the margin, a ratio that does not change in its direction contradicts it.
  kUndecided,
  kUntested,  // not compared: the metric has no samples, or a sample is not above 0
  kBetter,
  kSame,     // the interval lies within the margin; or not compared, and both values are equal
  kInvalid,  // either run is INVALID, or either value is a speed-up over an INVALID run
};
[[nodiscard]] std::string name_of(ChangeVerdict verdict);

struct MetricChange {
  const results::Record* before = nullptr;
  const results::Record* after = nullptr;
  std::string metric;
  double ratio = 0;  // median after / median before; NaN if the median before is 0
  // Confidence interval of the factor between the samples of both runs; 0 to infinity: too few
  // samples. `ratio` can lie outside it.
  double low = 0, high = 0;
  bool has_interval = false;  // true if samples were compared, so that low and high are set
  ChangeVerdict verdict = ChangeVerdict::kUntested;
};

struct Changes {
  std::vector<MetricChange> metrics;  // metrics at points of both folders, in the order of `after`
  size_t points = 0;                  // number of points that both folders have
  size_t only_before = 0, only_after = 0;
  int64_t tested = 0;  // number of comparisons that share the significance level
  // Sentences on settings, machines and code that differ.
  std::vector<std::string> differences;
};

// Compares the experiment's metrics at every point that both folders have, even if repetitions,
// threads, machine or code differ. Replaces `options.comparisons` by the number of comparisons.
[[nodiscard]] Changes changes_between(const results::ResultsFolder& before,
                                      const results::ResultsFolder& after,
                                      checks::ChangeOptions options);

}  // namespace reprise::app
