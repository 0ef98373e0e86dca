#include "experiments/framework/kind.h"

#include <algorithm>

#include "results/statistics.h"

namespace reprise::experiments {
std::vector<std::string> KindInfo::axis_names() const { return names_of(axes); }
std::vector<std::string> KindInfo::metric_names() const { return names_of(metrics); }
std::vector<std::string> KindInfo::series_names() const { return names_of(series); }

const Series* KindInfo::find_series(const std::string& wanted) const {
  for (const Series& known : series)
    if (known.name == wanted) return &known;
  return nullptr;
}

const Axis* KindInfo::find_axis(const std::string& wanted) const {
  for (const Axis& axis : axes)
    if (axis.name == wanted) return &axis;
  return nullptr;
}

void Measurement::set(const MetricInfo& metric, double value) {
  Json& json = metrics[metric.name];
  json = results::metric_json(value, metric.unit);
  if (metric.is_signed) json["signed"] = true;
}

void Measurement::summarize(const MetricInfo& metric, const std::vector<double>& values) {
  Json& json = metrics[metric.name];
  json = results::metric_json(results::summarize(values), metric.unit);
  if (metric.has_percentiles) results::add_percentiles(values, json);
  if (metric.is_signed) json["signed"] = true;
}

void Measurement::summarize_timed(const MetricInfo& metric, const std::vector<double>& values) {
  summarize(metric, values);
  if (!disturbed.is_null()) metrics[metric.name]["disturbed"] = disturbed;
}

void Measurement::sample(const MetricInfo& metric, const std::vector<double>& taken) {
  if (taken.empty()) return;
  samples[metric.name] = taken;
  summarize_timed(metric, taken);
}

void Measurement::derive_spread(const MetricInfo& metric, const MetricInfo& from,
                                const std::function<double(double)>& fn) {
  const Json& known = metrics.at(from.name);
  Json& derived = metrics[metric.name];
  if (known.contains("disturbed")) derived["disturbed"] = known.at("disturbed");
  if (!known.contains("q1")) return;
  for (const auto& [low, high] : {std::pair{"min", "max"}, std::pair{"q1", "q3"}}) {
    const double a = fn(known.at(low).get<double>()), b = fn(known.at(high).get<double>());
    derived[low] = std::min(a, b);
    derived[high] = std::max(a, b);
  }
  derived["iqr"] = derived["q3"].get<double>() - derived["q1"].get<double>();
  derived["count"] = known.at("count");
}

}  // namespace reprise::experiments
