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
  // Where its buffers are; of a dense MLP, whose work may be given to a device again.
  virtual void append_key(WorkKey& key) const = 0;
  // Experts whose matrices were read since prepare(), counted in each layer; 0: the model has none.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }
};

// Dense in every layer, or with experts where the config has them.
std::unique_ptr<Mlp> make_mlp(Network& network);

}  // namespace reprise::model
