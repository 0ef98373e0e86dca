#include "experiments/framework/kind.h"

#include <algorithm>

#include "core/base/json.h"
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

MethodChoice method_of(const results::Record& record) {
  const Value& options = record.requested("method_options");
  return {.name = text_of(record.settings.requested, "method"),
          .options = options.is_fields() ? options.fields() : Fields()};
}

std::string label_of(const MethodChoice& method) {
  return method.options.empty() ? method.name : method.name + " " + json_text(method.options);
}

results::Metric& Measurement::set(const MetricInfo& metric, double value) {
  return metrics[metric.name] = {
             .value = value, .unit = metric.unit, .is_signed = metric.is_signed};
}

double Measurement::value(const MetricInfo& metric) const {
  const results::Metric* found = results::find_metric(metrics, metric.name);
  return found == nullptr ? 0 : found->value;
}

void Measurement::summarize(const MetricInfo& metric, const std::vector<double>& values) {
  results::Metric summary = results::metric_of(results::summarize(values), metric.unit);
  if (metric.has_percentiles) results::add_percentiles(values, summary);
  summary.is_signed = metric.is_signed;
  metrics[metric.name] = std::move(summary);
}

void Measurement::summarize_timed(const MetricInfo& metric, const std::vector<double>& values) {
  summarize(metric, values);
  metrics[metric.name].disturbed = disturbed;
}

void Measurement::sample(const MetricInfo& metric, const std::vector<double>& taken) {
  if (taken.empty()) return;
  samples[metric.name] = taken;
  summarize_timed(metric, taken);
}

void Measurement::derive_spread(const MetricInfo& metric, const MetricInfo& from,
                                const std::function<double(double)>& fn) {
  const results::Metric& known = metrics.at(from.name);
  results::Metric& derived = metrics[metric.name];
  derived.disturbed = known.disturbed;
  if (!known.spread) return;
  const results::Spread& of = *known.spread;
  const auto [min, max] = std::minmax({fn(of.min), fn(of.max)});
  const auto [q1, q3] = std::minmax({fn(of.q1), fn(of.q3)});
  derived.spread = results::Spread{.min = min, .max = max, .q1 = q1, .q3 = q3, .count = of.count};
}

void Kind::begin_turn(const Group& group, int64_t repetition, size_t method,
                      const std::atomic<bool>& stop) const {
  if (stop) throw Interrupted{};
  const std::string name = label_of(group.methods[method]);
  tell(repetition < 0
           ? name + ", warm-up"
           : fmt::format("{}, repetition {} of {}", name, repetition + 1, group.repetitions));
}

}  // namespace reprise::experiments
