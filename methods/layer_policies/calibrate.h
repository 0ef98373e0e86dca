// Calibration texts shown to a policy that only looks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "methods/layer_policies/layer_similarity.h"
#include "methods/policy_method.h"

namespace reprise::methods {

// Runs up to 64 of the setup's calibration prompts with `looking` as the policy. Throws Error,
// naming the method and the axes that set texts apart, where there are none.
void show_calibration(const MethodInfo& info, const Setup& setup, model::LayerPolicy& looking);

// How much each layer changes calibration texts: [layers]. Throws Error as show_calibration().
std::vector<model::LayerCosine> cosines_of_layers(const MethodInfo& info, const Setup& setup);

// A policy that leaves out, by `action`, the `dropped` layers whose `part` changes calibration
// texts least. `layers` has one entry for each layer of the model. Throws Error if there are fewer
// layers.
MadePolicy drop_most_similar(std::span<const model::LayerCosine> layers,
                             double model::LayerCosine::*part, int64_t dropped,
                             model::LayerAction action);

// Why methods that choose layers by calibration texts generate nothing.
inline constexpr const char* kNeedsCalibrationTexts =
    "it chooses layers by calibration texts, which kinds \"prefill\" and \"sentences\" alone set "
    "apart";

}  // namespace reprise::methods
