#include "core/device/context.h"

#include <algorithm>

namespace reprise {

Context Context::machine() { return {std::max(1, cpu_facts().logical_cores), best_isa()}; }

}  // namespace reprise
