#include "experiments/kinds/shared/method_report.h"

#include <algorithm>

#include "methods/registry.h"

namespace reprise::experiments {
namespace {

bool runs_in(const methods::MethodInfo& info, MethodUse use) {
  if (use == MethodUse::kPrefill) return info.cannot_prefill.empty();
  return use == MethodUse::kMarkup ? info.reads_markup : info.cannot_generate.empty();
}

void add_new(const std::vector<MetricInfo>& from, std::vector<MetricInfo>& to) {
  for (const MetricInfo& metric : from)
    if (std::none_of(to.begin(), to.end(),
                     [&](const MetricInfo& one) { return one.name == metric.name; }))
      to.push_back(metric);
}

}  // namespace

void TurnPartSamples::add(const methods::TurnCounts& counts, double factor) {
  if (counts.parts.empty()) return;
  for (const auto* list : {&counts.parts, &counts.within})
    for (const methods::TurnPart& part : *list) {
      auto& [metric, values] = samples_[part.metric->name];
      metric = part.metric;
      values.push_back(part.ms * factor);
    }
  sums_ms_.push_back(counts.parts_ms() * factor);
}

void TurnPartSamples::add_to(Measurement& out) const {
  for (const auto& [name, samples] : samples_) out.sample(*samples.first, samples.second);
}

void add_method_metrics(MethodUse use, bool takes_turns, std::vector<MetricInfo>& metrics) {
  for (const methods::MethodEntry& entry : methods::known_methods()) {
    if (!runs_in(entry.info, use)) continue;
    if (takes_turns) {
      add_new(entry.info.turn_parts, metrics);
      add_new(entry.info.turn_metrics, metrics);
    }
    add_new(entry.info.metrics, metrics);
  }
}

}  // namespace reprise::experiments
