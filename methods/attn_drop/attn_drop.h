// AttnDrop (He et al., 2024) skips attention in the layers in which attention changes the residual
// stream least.
#pragma once

#include <cstdint>
#include <span>

#include "core/reuse/options.h"
#include "methods/layer_policies/calibrate.h"

namespace reprise::attn_drop {

struct AttnDropOptions {
  // Number of layers that skip attention. The default is the number in a decoder layer that
  // AttnCache's code has but does not use.
  int32_t dropped = 4;

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that do without their attention"}, {0, 1 << 14},
                    dropped);
  }
};

// Makes the policy from each layer's cosines, measured on calibration prompts; `layers` has one
// entry per layer of the model. Throws Error if options.dropped exceeds the number of layers.
methods::MadePolicy make_attn_drop(const AttnDropOptions& options,
                                   std::span<const model::LayerCosine> layers);

}  // namespace reprise::attn_drop
