// Trains a projector on collected prompts, by libtorch.
//
// The options set the label rule, batch, epochs, learning rate and momentum. [AttnCache §3.1,
// equations 1 to 3; figure 4, step 2] kMlp is trained on standardized states (each input with mean
// 0 and the same standard deviation), scaled so that initial distances are about as large as the
// labels; with unscaled states, no single learning rate fits all models. The returned weights take
// unscaled states.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "methods/attn_cache/database.h"

namespace reprise::attn_cache {

// The reason why nothing can be trained (built without libtorch, or it cannot be loaded), with the
// remedy; "" if training can run. Loads libtorch on first use. Using a trained projector does not
// need it.
const std::string& training_absence();

struct TrainedProjector {
  Projector projector;
  std::vector<double> losses;       // [epochs]  mean loss
  std::vector<double> flat_losses;  // [epochs]  loss of predicting a batch's mean label
  // Ratio of the two losses of the last epoch; below 1 if the projector distinguishes pairs. Empty
  // if the flat loss is 0: if each batch has one pair, the mean label is that pair's label.
  [[nodiscard]] std::optional<double> loss_over_flat() const {
    if (flat_losses.back() == 0.0) return std::nullopt;
    return losses.back() / flat_losses.back();
  }
};

// Trains a projector on `samples`, whose maps are in `maps`. `seed` is the seed of the initial
// weights and of the samples' order. Throws Error without libtorch, naming `./setup.sh --torch`;
// for kRaw, which has no weights; for fewer than two samples; and if the loss becomes infinite or
// NaN. Calls `between`, unless it is empty, before each batch; an exception from `between` ends the
// training.
TrainedProjector train_projector(const SampleSet& samples, const MapStore& maps,
                                 const AttnCacheOptions& options, uint64_t seed,
                                 const Context& context, const std::function<void()>& between = {});

}  // namespace reprise::attn_cache
