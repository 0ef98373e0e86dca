#include "experiments/framework/undisturbed.h"

#include <algorithm>
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
  results::CoreUses uses{.disturbed = disturbed(), .retaken = retaken()};
  for (const CoreUse& use : uses_) {
    uses.wall_ms.push_back(use.wall_ms);
    uses.cpu_ms.push_back(use.cpu_ms);
    uses.waited_ms.push_back(use.waited_ms);
    uses.background_ms.push_back(use.background_ms);
    uses.stolen_ms.push_back(use.stolen_ms);
    uses.involuntary_switches.push_back(use.involuntary_switches);
  }
  out.core_use = std::move(uses);
  out.disturbed = results::disturbed_mark(disturbed(), std::ssize(uses_), retaken());
}

void Undisturbed::mark_comparison(const Undisturbed& other, const MetricInfo& metric,
                                  Measurement& out) const {
  const size_t pairs = std::min(uses_.size(), other.uses_.size());
  int64_t lost = 0;
  for (size_t i = 0; i < pairs; ++i)
    lost += uses_[i].lost_its_core() || other.uses_[i].lost_its_core() ? 1 : 0;
  const auto mark = results::disturbed_mark(lost, static_cast<int64_t>(pairs),
                                            std::max(retaken(), other.retaken()));
  if (mark) out.metrics[metric.name].disturbed = mark;
}

}  // namespace reprise::experiments
