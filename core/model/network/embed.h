// The rows that enter the first block: words, and where the model has them, positions and types.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

class Embed {
 public:
  explicit Embed(Network& network) : network_(network) {}
  // buffers.residual [rows, hidden]; of post-norm models buffers.normed too. Throws Error for ids,
  // types and learned positions that the tables do not hold.
  void run(const StepInput& step);

 private:
  void add_positions(const StepInput& step);
  void add_types(const StepInput& step);
  void add(Part part, std::span<const int32_t> indices);

  Network& network_;
  std::vector<int32_t> indices_;  // [rows]  into the table of positions or types
};

}  // namespace reprise::model
