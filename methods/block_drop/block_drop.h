// BlockDrop (He et al., 2024): the layers that change their input least are left out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"
#include "methods/layer_policies/layer_similarity.h"

namespace reprise::block_drop {

struct BlockDropOptions {
  int32_t dropped = 4;  // layers

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that are left out, attention and MLP"},
                    {0, 1 << 14}, dropped);
  }
};

// By what calibration prompts have shown (model::LayerSimilarity), one for each layer of the model.
// Throws Error where more layers shall go than there are.
std::unique_ptr<model::LayerPolicy> make_block_drop(const BlockDropOptions& options,
                                                    std::span<const model::LayerCosine> layers);

}  // namespace reprise::block_drop
