// The MLP of a block.
#pragma once

#include <cstdint>
#include <memory>

#include "core/model/network/network.h"

namespace reprise::model {

class Mlp {
 public:
  virtual ~Mlp() = default;
  // Makes room for steps of `rows`.
  virtual void prepare(int64_t rows) = 0;
  // residual [rows, hidden] f32 += MLP of `layer` (x), x [rows, hidden] in the network's dtype.
  virtual void add(const PartSet& layer, const void* x, int64_t rows, float* residual) = 0;
};

// down(act(gate(x)) * up(x)), or down(act(up(x))), by the config.
std::unique_ptr<Mlp> make_mlp(Network& network);

}  // namespace reprise::model
