#include "experiments/kinds/shared/method_report.h"

#include <algorithm>

#include "methods/registry.h"

namespace reprise::experiments {
namespace {

bool runs_in(const methods::MethodInfo& info, MethodUse use) {
  if (use == MethodUse::kPrefill) return info.cannot_prefill.empty();
  return use == MethodUse::kMarkup ? info.reads_markup : info.cannot_generate.empty();
}

// Each name once.
std::vector<MetricInfo> metrics_of(std::vector<MetricInfo> methods::MethodInfo::*list,
                                   MethodUse use) {
  std::vector<MetricInfo> all;
  for (const methods::MethodEntry& entry : methods::known_methods()) {
    if (!runs_in(entry.info, use)) continue;
    for (const MetricInfo& metric : entry.info.*list)
      if (std::none_of(all.begin(), all.end(),
                       [&](const MetricInfo& one) { return one.name == metric.name; }))
        all.push_back(metric);
  }
  return all;
}

}  // namespace

void TurnPartSamples::add(const methods::TurnCounts& counts, double factor) {
  if (counts.parts.empty()) return;
  for (const methods::TurnPart& part : counts.parts) {
    auto& [metric, values] = samples_[part.metric->name];
    metric = part.metric;
    values.push_back(part.ms * factor);
  }
  sums_ms_.push_back(counts.parts_ms() * factor);
}

void TurnPartSamples::add_to(Measurement& out) const {
  for (const auto& [name, samples] : samples_) out.sample(*samples.first, samples.second);
}

std::vector<MetricInfo> method_metrics_of(MethodUse use) {
  return metrics_of(&methods::MethodInfo::metrics, use);
}

std::vector<MetricInfo> turn_parts_of(MethodUse use) {
  return metrics_of(&methods::MethodInfo::turn_parts, use);
}

}  // namespace reprise::experiments
