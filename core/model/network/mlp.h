// The interface of a block's MLP.
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
  // Adds the MLP of `layer`, applied to x [rows, hidden] in the network's dtype, to residual [rows,
  // hidden] f32.
  virtual void add(const PartSet& layer, const void* x, int64_t rows, float* residual) = 0;
  // Appends the addresses of the MLP's buffers. A device records and replays only steps of models
  // without experts, so a model with experts must not call this (CHECK).
  virtual void append_key(WorkKey& key) const = 0;
  // Number of experts whose matrices were read since prepare(), summed over layers; 0 without
  // experts.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }
};

// Makes an MLP that is dense in all layers, or has experts in those layers in which the config has
// them.
std::unique_ptr<Mlp> make_mlp(Network& network);

}  // namespace reprise::model
