// The convolution between a model's first and second layer: see ConvolutionConfig.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

class Convolution {
 public:
  // Requires a model with convolution.kernel > 0, whose blocks also leave their output in
  // buffers.normed.
  explicit Convolution(Network& network) : network_(network) {}

  // Called before the first layer of a step: keeps its input. Each item of the plan is a text.
  void begin(const StepInput& step);
  // Called after the first layer: buffers.residual [rows, hidden] f32 becomes the norm of itself
  // plus the convolution of the kept input, and buffers.normed the same in the model's dtype.
  void add(int64_t rows);

 private:
  Network& network_;
  Buffer taps_;  // [rows, hidden, kernel]  each input with those of the tokens around it
  Buffer sums_;  // [rows, hidden] f32
};

}  // namespace reprise::model
