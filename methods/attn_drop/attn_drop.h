// AttnDrop (He et al., 2024): the layers whose attention changes their input least do without it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"
#include "methods/layer_policies/layer_similarity.h"

namespace reprise::attn_drop {

struct AttnDropOptions {
  int32_t dropped = 4;  // layers, as many as a decoder layer in AttnCache's code that nothing uses

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"dropped", "layers", "layers that do without their attention"}, {0, 1 << 14},
                    dropped);
  }
};

// By what calibration prompts have shown (model::LayerSimilarity), one for each layer of the model.
// Throws Error where more layers shall go than there are.
std::unique_ptr<model::LayerPolicy> make_attn_drop(const AttnDropOptions& options,
                                                   std::span<const model::LayerCosine> layers);

}  // namespace reprise::attn_drop
