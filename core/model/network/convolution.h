// The convolution between a model's first and second layer: see ConvolutionConfig.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

class Convolution {
 public:
  // Requires a model with convolution.kernel > 0. Its blocks must also leave their output in
  // buffers.normed.
  explicit Convolution(Network& network) : network_(network) {}

  // Called before the first layer of a step: keeps that layer's input (buffers.normed). The
  // convolution does not cross from one item of the plan, which is a text, into the next.
  void begin(const StepInput& step);
  // Called after the first layer: residual = norm(residual + activation(convolution(x))), where x
  // is the input that begin() has kept and residual is buffers.residual [rows, hidden] f32. Also
  // writes the result, in the model's dtype, to buffers.normed.
  void add(int64_t rows);

 private:
  Network& network_;
  Buffer taps_;  // [rows, hidden, kernel]  each input's values at the token and its neighbours
  Buffer sums_;  // [rows, hidden] f32
};

}  // namespace reprise::model
