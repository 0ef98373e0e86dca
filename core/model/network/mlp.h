// The MLP of a block.
#pragma once

#include <cstdint>
#include <memory>

#include "core/model/network/network.h"

namespace reprise::model {

class Mlp {
 public:
  virtual ~Mlp() = default;
  // Allocates buffers for steps of `rows` rows.
  virtual void prepare(int64_t rows) = 0;
  // residual [rows, hidden] f32 += MLP of `layer` (x), with x [rows, hidden] in the network's
  // dtype.
  virtual void add(const PartSet& layer, const void* x, int64_t rows, float* residual) = 0;
  // Appends the addresses of its buffers. Only dense MLPs are recorded and replayed by a device.
  virtual void append_key(WorkKey& key) const = 0;
  // Experts whose matrices were read since prepare(), summed over layers; 0 without experts.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }
};

// Dense in every layer, or with experts in the layers that have them by the config.
std::unique_ptr<Mlp> make_mlp(Network& network);

}  // namespace reprise::model
