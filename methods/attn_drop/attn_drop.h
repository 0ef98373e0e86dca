// AttnDrop (He et al., 2024): the layers whose attention changes their input least do without it.
#pragma once

#include <cstdint>
#include <span>

#include "core/reuse/options.h"
#include "methods/layer_policies/calibrate.h"

namespace reprise::attn_drop {

struct AttnDropOptions {
  int32_t dropped = 4;  // layers, as many as a decoder layer in AttnCache's code that nothing uses

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that do without their attention"}, {0, 1 << 14},
                    dropped);
  }
};

// Makes the policy from what calibration prompts have shown, one entry for each layer of the model.
// Throws Error if more layers are to be dropped than there are.
methods::MadePolicy make_attn_drop(const AttnDropOptions& options,
                                   std::span<const model::LayerCosine> layers);

}  // namespace reprise::attn_drop
