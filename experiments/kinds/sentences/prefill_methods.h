// The list of ways to run a model's layers that the kinds "sentences" and "prefill" compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/kinds/sentences/prefill_method.h"

namespace reprise::experiments {

// For KindInfo::own_methods. The first is what the others are compared with.
[[nodiscard]] std::vector<OwnMethod> prefill_methods();
// Throws Error for a method that is none of them, with the nearest, and for wrong options.
std::unique_ptr<PrefillMethod> make_prefill_method(const MethodChoice& method);
// For Kind::missing().
[[nodiscard]] std::string missing_for(const MethodChoice& method);

// Metrics that methods report by themselves.
[[nodiscard]] std::vector<MetricInfo> prefill_method_metrics();

}  // namespace reprise::experiments
