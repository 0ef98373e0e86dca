#include "methods/layer_policies/calibrate.h"

#include <algorithm>

#include "core/base/error.h"
#include "methods/layer_policies/layer_rules.h"

namespace reprise::methods {
namespace {

// Upper bound on the prompts that calibration runs. It bounds the time of SAN, which compares the
// maps of all pairs of layers; a comparison takes longer than computing the two maps.
constexpr int64_t kMostCalibrationPrompts = 64;

}  // namespace

int64_t calibration_texts(const Setup& setup) {
  return std::min(std::ssize(setup.calibration()), kMostCalibrationPrompts);
}

void show_calibration(const MethodInfo& info, const Setup& setup, model::LayerPolicy& looking) {
  const auto prompts = setup.calibration();
  if (prompts.empty())
    raise(
        "{} chooses layers by calibration texts, and there are none: give some (training_share or "
        "database_share of kind \"sentences\", training_texts or database_texts of kind "
        "\"prefill\", "
        "--training or --stored of `reprise embed`)",
        info.name);
  for (const std::vector<int32_t>& ids :
       prompts.first(static_cast<size_t>(calibration_texts(setup))))
    (void)setup.run(ids, &looking);
}

std::vector<model::LayerCosine> cosines_of_layers(const MethodInfo& info, const Setup& setup) {
  model::LayerSimilarity similarity(setup.config.layers);
  show_calibration(info, setup, similarity);
  return similarity.layers();
}

MadePolicy drop_most_similar(std::span<const model::LayerCosine> layers,
                             double model::LayerCosine::*part, int64_t dropped,
                             model::LayerAction action) {
  std::vector<double> cosines;
  for (const model::LayerCosine& layer : layers) cosines.push_back(layer.*part);
  const std::vector<int64_t> most_similar = model::most_similar_layers(cosines, dropped);
  return {
      .policy = std::make_shared<model::LayerSkipping>(most_similar, std::ssize(layers), action),
      .chosen = {{"dropped_layers", most_similar}}};
}

}  // namespace reprise::methods
