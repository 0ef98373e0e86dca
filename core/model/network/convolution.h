// What a model does between its first layer and its second: see ConvolutionConfig.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/model/network/network.h"
#include "core/model/network/step.h"

namespace reprise::model {

class Convolution {
 public:
  // A model with convolution.kernel > 0, whose blocks leave what they make in buffers.normed too.
  explicit Convolution(Network& network) : network_(network) {}

  // Before the first layer of a step: keeps what that reads. Each of the plan's items is a text.
  void begin(const StepInput& step);
  // Behind it: buffers.residual [rows, hidden] f32 becomes the norm of itself and the convolution
  // of what begin() kept, and buffers.normed the same in the model's dtype.
  void add(int64_t rows);

 private:
  Network& network_;
  Buffer taps_;  // [rows, hidden, kernel]  a token's inputs, each beside its neighbours'
  Buffer sums_;  // [rows, hidden] f32
};

}  // namespace reprise::model
