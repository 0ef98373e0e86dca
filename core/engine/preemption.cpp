#include "core/engine/preemption.h"

#include "core/base/error.h"

namespace reprise::engine {
namespace {

constexpr Preemption kAll[] = {Preemption::kRecompute, Preemption::kSwapHost,
                               Preemption::kSwapDisk};

}  // namespace

std::string_view name_of(Preemption preemption) {
  switch (preemption) {
    case Preemption::kRecompute:
      return "recompute";
    case Preemption::kSwapHost:
      return "swap_host";
    case Preemption::kSwapDisk:
      return "swap_disk";
  }
  REPRISE_CHECK(false, "preemption {}", static_cast<int>(preemption));
}

std::vector<std::string> known_preemptions() {
  std::vector<std::string> names;
  for (const Preemption preemption : kAll) names.emplace_back(name_of(preemption));
  return names;
}

Preemption parse_preemption(std::string_view name) {
  for (const Preemption preemption : kAll)
    if (name == name_of(preemption)) return preemption;
  raise("{}", unknown_name("preemption", name, known_preemptions()));
}

}  // namespace reprise::engine
