#include "app/report/changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "app/report/differences.h"
#include "experiments/kinds/registry.h"
#include "results/better.h"
#include "results/metric_name.h"
#include "results/run_validity.h"

namespace reprise::app {
namespace {

using results::Better;
using results::Record;
using results::ResultsFolder;
using Axes = std::map<std::string, Values>;

// Returns {axis: values} with the axes of both sweeps, so that a point has the same key in both
// folders.
Axes axes_of_both(const ResultsFolder& before, const ResultsFolder& after) {
  Axes axes = before.run.settings.axes;
  axes.insert(after.run.settings.axes.begin(), after.run.settings.axes.end());
  return axes;
}

// Returns the defaults of the axes of the folder's kind.
Fields axis_defaults(const ResultsFolder& folder) {
  Fields defaults;
  for (const experiments::KindInfo& kind : experiments::known_kinds())
    if (kind.name == folder.run.settings.kind)
      for (const experiments::Axis& axis : kind.axes) defaults[axis.name] = axis.fallback.value();
  return defaults;
}

// Returns the key of the record's point. A record that is older than an axis was measured with the
// axis' default, even if the other folder has another value.
std::string key_of(const Record& record, const Axes& axes, const Fields& defaults) {
  Fields requested = record.settings.requested;
  requested.insert(defaults.begin(), defaults.end());  // keeps the values that it has
  return results::point_key(requested, axes);
}

// Returns the samples of a metric. Empty if the metric was not sampled, and for percentiles.
std::vector<double> samples_of(const Record& record, const std::string& metric) {
  const auto samples = record.samples.find(metric);
  return samples == record.samples.end() ? std::vector<double>() : samples->second;
}

ChangeVerdict verdict_of(checks::Verdict verdict, Better better) {
  const bool is_known = better != Better::kUnknown;
  switch (verdict) {
    case checks::Verdict::kSame:
      return ChangeVerdict::kSame;
    case checks::Verdict::kSlower:
      return is_known ? ChangeVerdict::kWorse : ChangeVerdict::kChanged;
    case checks::Verdict::kFaster:
      return is_known ? ChangeVerdict::kBetter : ChangeVerdict::kChanged;
    case checks::Verdict::kUndecided:
      break;
  }
  return ChangeVerdict::kUndecided;
}

// The interval is that of the shift of all samples, and the ratio is that of their medians. If the
// samples' distribution changed its shape, the ratio may lie outside the interval. Such a ratio
// contradicts the verdict "same". Other verdicts are contradicted by a ratio that does not change
// in the interval's direction.
bool contradicts(const MetricChange& change, checks::Verdict verdict) {
  constexpr double kRounding = 1e-9;
  if (verdict != checks::Verdict::kSame) return (change.ratio - 1) * (change.low - 1) <= 0;
  return change.ratio < change.low * (1 - kRounding) ||
         change.ratio > change.high * (1 + kRounding);
}

// Tests a change by the samples, if both records have samples. If higher values of the metric are
// better, the samples are swapped, and the interval of the ratio is inverted.
void test_change(const std::string& unit, const checks::ChangeOptions& options,
                 MetricChange& change) {
  std::vector<double> before = samples_of(*change.before, change.metric);
  std::vector<double> after = samples_of(*change.after, change.metric);
  const Better better = results::better_of(change.metric, unit);
  const bool is_inverse = better == Better::kHigher;
  if (is_inverse) std::swap(before, after);
  const auto found = checks::change_of(before, after, options);
  if (!found) return;
  change.has_interval = true;
  change.low = std::exp(is_inverse ? -found->shift.high : found->shift.low);
  change.high = std::exp(is_inverse ? -found->shift.low : found->shift.high);
  change.verdict = contradicts(change, found->verdict) ? ChangeVerdict::kUndecided
                                                       : verdict_of(found->verdict, better);
}

// Compares a metric that both records have.
MetricChange change_at(const Record& before, const Record& after, const std::string& metric) {
  const double was = results::shown_metric(before.metrics, metric)->value;
  const double is = results::shown_metric(after.metrics, metric)->value;
  MetricChange change{.before = &before, .after = &after, .metric = metric};
  change.ratio = was == 0 ? std::numeric_limits<double>::quiet_NaN() : is / was;
  if (was == is) change.verdict = ChangeVerdict::kSame;
  return change;
}

bool have_both(const Record& before, const Record& after, const std::string& metric) {
  return results::shown_metric(before.metrics, metric) &&
         results::shown_metric(after.metrics, metric);
}

void judge_changes(const ResultsFolder& before, const ResultsFolder& after,
                   checks::ChangeOptions options, Changes& changes) {
  std::vector<MetricChange*> tested;
  for (MetricChange& change : changes.metrics) {
    if (!results::is_valid_metric(*change.before, change.metric, before.records) ||
        !results::is_valid_metric(*change.after, change.metric, after.records))
      change.verdict = ChangeVerdict::kInvalid;
    else if (checks::has_logarithms(samples_of(*change.before, change.metric)) &&
             checks::has_logarithms(samples_of(*change.after, change.metric)))
      tested.push_back(&change);
  }
  changes.tested = std::ssize(tested);
  options.comparisons = std::max<int64_t>(1, changes.tested);
  for (MetricChange* change : tested) {
    const auto metric = results::shown_metric(change->after->metrics, change->metric);
    test_change(metric->unit, options, *change);
  }
}

}  // namespace

std::string name_of(ChangeVerdict verdict) {
  constexpr const char* kNames[] = {"worse",  "changed", "undecided",  "not tested",
                                    "better", "same",    "INVALID run"};
  return kNames[static_cast<size_t>(verdict)];
}

Changes changes_between(const ResultsFolder& before, const ResultsFolder& after,
                        checks::ChangeOptions options) {
  Changes changes;
  const Axes axes = axes_of_both(before, after);
  const Fields defaults = axis_defaults(after);
  std::map<std::string, const Record*> old_points;
  for (const Record& record : before.records)
    old_points.emplace(key_of(record, axes, defaults), &record);
  for (const Record& record : after.records) {
    const auto found = old_points.find(key_of(record, axes, defaults));
    if (found == old_points.end()) continue;
    ++changes.points;
    for (const std::string& metric : after.run.metrics)
      if (have_both(*found->second, record, metric))
        changes.metrics.push_back(change_at(*found->second, record, metric));
  }
  changes.only_before = old_points.size() - std::min(old_points.size(), changes.points);
  changes.only_after = after.records.size() - changes.points;
  judge_changes(before, after, options, changes);
  changes.differences = differences_between(before, after);
  return changes;
}

}  // namespace reprise::app
