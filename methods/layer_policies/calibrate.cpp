#include "methods/layer_policies/calibrate.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::methods {
namespace {

// Maps of two layers are compared row by row, which takes longer than computing them.
constexpr size_t kMostCalibrationPrompts = 64;

}  // namespace

void show_calibration(const MethodInfo& info, const Setup& setup, model::LayerPolicy& looking) {
  const auto prompts = setup.calibration();
  if (prompts.empty())
    raise(
        "{} chooses layers by calibration texts, and there are none: set some apart "
        "(training_share or database_share of kind \"sentences\", training_texts or database_texts "
        "of kind \"prefill\")",
        info.name);
  for (const std::vector<int32_t>& ids :
       prompts.first(std::min(prompts.size(), kMostCalibrationPrompts)))
    (void)setup.run(ids, &looking);
}

std::vector<model::LayerCosine> cosines_of_layers(const MethodInfo& info, const Setup& setup) {
  model::LayerSimilarity similarity(setup.config.layers);
  show_calibration(info, setup, similarity);
  return similarity.layers();
}

}  // namespace reprise::methods
