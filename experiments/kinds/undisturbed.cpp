#include "experiments/kinds/undisturbed.h"

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
  if (disturbed() == 0) return;
  for (const auto& [name, samples] : out.samples.items())
    results::mark_disturbed(disturbed(), std::ssize(uses_), out.metrics[name]);
}

}  // namespace reprise::experiments
