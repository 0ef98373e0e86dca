// Runs calibration prompts with a policy that measures layers, and chooses layers by the
// measurements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "methods/layer_policies/layer_similarity.h"
#include "methods/policy_method.h"

namespace reprise::methods {

// Returns the number of prompts that show_calibration() runs: the setup's first calibration
// prompts, at most 64.
[[nodiscard]] int64_t calibration_texts(const Setup& setup);

// Runs calibration prompts with the measuring policy `looking`. Throws Error, naming the method and
// the settings that provide prompts, if the setup has no such prompts.
void show_calibration(const MethodInfo& info, const Setup& setup, model::LayerPolicy& looking);

// Runs LayerSimilarity on the calibration prompts and returns its cosines, [layers]. Throws Error
// as show_calibration().
std::vector<model::LayerCosine> cosines_of_layers(const MethodInfo& info, const Setup& setup);

// Makes a policy that applies `action` to the `dropped` layers with the largest cosines. `part`
// chooses which cosine of LayerCosine counts. `layers` has one entry per layer of the model. Throws
// Error if the model has fewer than `dropped` layers.
MadePolicy drop_most_similar(std::span<const model::LayerCosine> layers,
                             double model::LayerCosine::*part, int64_t dropped,
                             model::LayerAction action);

// The reason why methods that choose layers by calibration texts do not generate.
inline constexpr const char* kNeedsCalibrationTexts =
    "it chooses layers by calibration texts, which only kinds \"prefill\" and \"sentences\" and "
    "`reprise embed` take";

}  // namespace reprise::methods
