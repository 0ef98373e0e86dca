#include "core/device/context.h"

#include <algorithm>

namespace reprise {

Context Context::machine() {
  return {.threads = std::max(1, cpu_facts().logical_cores), .isa = best_isa()};
}

}  // namespace reprise
