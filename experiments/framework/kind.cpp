#include "experiments/framework/kind.h"

#include "results/statistics.h"

namespace reprise::experiments {
std::vector<std::string> KindInfo::axis_names() const { return names_of(axes); }
std::vector<std::string> KindInfo::metric_names() const { return names_of(metrics); }
std::vector<std::string> KindInfo::own_method_names() const { return names_of(own_methods); }

bool KindInfo::has_own_method(const std::string& wanted) const {
  for (const OwnMethod& method : own_methods)
    if (method.name == wanted) return true;
  return false;
}

const Axis* KindInfo::find_axis(const std::string& wanted) const {
  for (const Axis& axis : axes)
    if (axis.name == wanted) return &axis;
  return nullptr;
}

void Measurement::set(const MetricInfo& metric, double value) {
  metrics[metric.name] = results::metric_json(value, metric.unit);
}

void Measurement::summarize(const MetricInfo& metric, const std::vector<double>& values) {
  Json& json = metrics[metric.name];
  json = results::metric_json(results::summarize(values), metric.unit);
  if (metric.has_percentiles) results::add_percentiles(values, json);
}

void Measurement::sample(const MetricInfo& metric, const std::vector<double>& taken) {
  if (taken.empty()) return;
  samples[metric.name] = taken;
  summarize(metric, taken);
}

}  // namespace reprise::experiments
