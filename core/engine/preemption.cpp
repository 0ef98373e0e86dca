#include "core/engine/preemption.h"

#include "core/base/enum_names.h"
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

std::vector<std::string> known_preemptions() { return names_of_all(kAll); }

Preemption parse_preemption(std::string_view name) { return parse_name("preemption", name, kAll); }

}  // namespace reprise::engine
