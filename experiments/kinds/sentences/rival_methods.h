// AttnCache's rivals as methods of kinds, and beside AttnCache: they learn which layers share or
// are left out from calibration prompts, and store nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "experiments/kinds/sentences/prefill_method.h"

namespace reprise::experiments {

// "lazy_former", "san", "attn_drop", "block_drop".
[[nodiscard]] std::vector<OwnMethod> rival_methods();
[[nodiscard]] bool is_rival(const std::string& name);
// Throws Error for an option that is not the rival's.
std::unique_ptr<PrefillMethod> make_rival_method(const std::string& name, const Json& options);
// Every option as it turns out where `given` is given.
[[nodiscard]] Json resolve_rival_options(const std::string& name, const JsonObject& given);
// Whether it leaves out what it does not compute, rather than computing it by an earlier layer's
// map.
[[nodiscard]] bool skips_layers(const std::string& rival);

struct RivalPolicy {
  std::shared_ptr<model::LayerPolicy> policy;
  Json chosen = Json::object();  // layers, for a record
};
// For the set-up's model, calibrated where the method does that. Throws Error where it needs
// calibration prompts and there are none.
[[nodiscard]] RivalPolicy make_rival_policy(const std::string& name, const Json& options,
                                            const PrefillSetup& setup);

}  // namespace reprise::experiments
