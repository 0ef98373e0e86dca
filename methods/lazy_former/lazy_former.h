// LazyFormer (Ying et al., 2021) groups neighbouring layers into blocks. The first layer of a block
// computes its attention map, and the other layers of the block use it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"

namespace reprise::lazy_former {

struct LazyFormerOptions {
  int32_t block_layers = 2;  // layers in a block; 2 as in the comparison of [AttnCache §5.5]

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"block_layers", "layers", "neighbouring layers that share one attention map"},
                    {1, 1 << 14}, block_layers);
  }
};

// Makes the policy for a model of `layers` layers; its last block may be shorter. Throws Error for
// options out of range.
std::unique_ptr<model::LayerPolicy> make_lazy_former(const LazyFormerOptions& options,
                                                     int64_t layers);

}  // namespace reprise::lazy_former
