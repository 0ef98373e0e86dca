#include "experiments/framework/undisturbed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "results/statistics.h"

namespace reprise::experiments {

bool Undisturbed::may_retake(const CoreUse& use, int tries) {
  if (tries < kMostTries && retakes_left_ > 0) {
    --retakes_left_;
    return true;
  }
  const double needed_ms = use.wall_ms + static_cast<double>(kRest.count());
  if (needed_ms > short_left_ms_) return false;
  short_left_ms_ -= needed_ms;
  return true;
}

void Undisturbed::rest() { std::this_thread::sleep_for(kRest); }

int64_t Undisturbed::disturbed() const {
  return std::count_if(uses_.begin(), uses_.end(),
                       [](const CoreUse& use) { return use.lost_its_core(); });
}

void Undisturbed::add_to(Measurement& out) const {
  const auto each = [&](auto field) {
    Json values = Json::array();
    for (const CoreUse& use : uses_) values.push_back(use.*field);
    return values;
  };
  out.core_use = {{"wall_ms", each(&CoreUse::wall_ms)},
                  {"cpu_ms", each(&CoreUse::cpu_ms)},
                  {"waited_ms", each(&CoreUse::waited_ms)},
                  {"background_ms", each(&CoreUse::background_ms)},
                  {"involuntary_switches", each(&CoreUse::involuntary_switches)},
                  {"stolen_ms", each(&CoreUse::stolen_ms)},
                  {"disturbed", disturbed()},
                  {"retaken", retaken()}};
  out.disturbed = results::disturbed_json(disturbed(), std::ssize(uses_), retaken());
}

void Undisturbed::mark_comparison(const Undisturbed& other, const MetricInfo& metric,
                                  Measurement& out) const {
  const size_t pairs = std::min(uses_.size(), other.uses_.size());
  int64_t lost = 0;
  for (size_t i = 0; i < pairs; ++i)
    lost += uses_[i].lost_its_core() || other.uses_[i].lost_its_core() ? 1 : 0;
  Json mark = results::disturbed_json(lost, static_cast<int64_t>(pairs),
                                      std::max(retaken(), other.retaken()));
  if (!mark.is_null()) out.metrics[metric.name]["disturbed"] = std::move(mark);
}

}  // namespace reprise::experiments
