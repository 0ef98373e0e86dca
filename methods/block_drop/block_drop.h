// BlockDrop (He et al., 2024) skips the layers that change their input least.
#pragma once

#include <cstdint>
#include <span>

#include "core/reuse/options.h"
#include "methods/layer_policies/calibrate.h"

namespace reprise::block_drop {

struct BlockDropOptions {
  int32_t dropped = 4;  // number of layers to leave out

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that are left out, attention and MLP"},
                    {0, 1 << 14}, dropped);
  }
};

// Makes the policy from each layer's cosines, measured on calibration prompts; `layers` has one
// entry per layer of the model. Throws Error if options.dropped exceeds the number of layers.
methods::MadePolicy make_block_drop(const BlockDropOptions& options,
                                    std::span<const model::LayerCosine> layers);

}  // namespace reprise::block_drop
