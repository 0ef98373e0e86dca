// BlockDrop (He et al., 2024): the layers that change their input least are left out.
#pragma once

#include <cstdint>
#include <span>

#include "core/reuse/options.h"
#include "methods/layer_policies/calibrate.h"

namespace reprise::block_drop {

struct BlockDropOptions {
  int32_t dropped = 4;  // layers

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that are left out, attention and MLP"},
                    {0, 1 << 14}, dropped);
  }
};

// Makes the policy from what calibration prompts have shown, one entry for each layer of the model.
// Throws Error if more layers are to be dropped than there are.
methods::MadePolicy make_block_drop(const BlockDropOptions& options,
                                    std::span<const model::LayerCosine> layers);

}  // namespace reprise::block_drop
