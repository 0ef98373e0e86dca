// Computes the input of the first block: token embeddings, plus positions and token types if the
// model has them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

class Embed {
 public:
  explicit Embed(Network& network) : network_(network) {}
  // Fills buffers.residual [rows, hidden], and for post-norm models also buffers.normed. Throws
  // Error for ids, token types and learned positions outside their tables.
  void run(const StepInput& step);

 private:
  void add_positions(const StepInput& step);
  void add_types(const StepInput& step);
  void add(Part part, std::span<const int32_t> indices);

  Network& network_;
  std::vector<int32_t> indices_;  // [rows]  rows of the table of positions or token types
};

}  // namespace reprise::model
