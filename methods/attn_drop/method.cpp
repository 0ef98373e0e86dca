#include <nlohmann/json.hpp>

#include "methods/attn_drop/attn_drop.h"
#include "methods/layer_policies/calibrate.h"
#include "methods/policy_method.h"

namespace reprise::methods {
namespace {

MadePolicy make(const MethodInfo& info, const attn_drop::AttnDropOptions& options,
                const Setup& setup) {
  const auto cosines = cosines_of_layers(info, setup);
  std::vector<double> values;
  for (const model::LayerCosine& layer : cosines) values.push_back(layer.attention);
  return {.policy = attn_drop::make_attn_drop(options, cosines),
          .chosen = {{"dropped_layers", model::most_similar_layers(values, options.dropped)}}};
}

}  // namespace

MethodEntry attn_drop_method() {
  return policy_method<attn_drop::AttnDropOptions>(
      {.name = "attn_drop",
       .summary = "layers whose attention changes calibration texts least do without it",
       .paper = "AttnDrop",
       .exactness = Exactness::kApproximate,
       .look = {.color = "", .marker = ""},
       .skips_layers = true,
       .cannot_generate = kNeedsCalibrationTexts},
      make);
}

}  // namespace reprise::methods
