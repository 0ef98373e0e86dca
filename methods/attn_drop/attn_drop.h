// AttnDrop (He et al., 2024) skips the attention of the layers whose input it changes least.
#pragma once

#include <cstdint>
#include <span>

#include "core/reuse/options.h"
#include "methods/layer_policies/calibrate.h"

namespace reprise::attn_drop {

struct AttnDropOptions {
  int32_t dropped = 4;  // layers to skip; 4 as in an unused decoder layer of AttnCache's code

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that do without their attention"}, {0, 1 << 14},
                    dropped);
  }
};

// Makes the policy from each layer's cosines, measured on calibration prompts; `layers` has one
// entry per layer of the model.
// Throws Error if options.dropped exceeds the number of layers.
methods::MadePolicy make_attn_drop(const AttnDropOptions& options,
                                   std::span<const model::LayerCosine> layers);

}  // namespace reprise::attn_drop
