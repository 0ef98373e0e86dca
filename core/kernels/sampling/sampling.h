// The next token of rows of logits that lie on a device.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

// How one token is drawn. temperature 0 or top_k 1: the largest logit, the lowest id among equals.
// Else: p = softmax(logits / temperature), the top_k most probable tokens (0: all), of these the
// smallest set that reaches top_p of their sum, and of that the token on which `unit` falls when
// they stand in order of probability, the lowest id first among equals. `unit` is random, in [0,
// 1).
struct SampleRule {
  double temperature = 0.0;
  double top_p = 1.0;
  double unit = 0.0;
  int64_t row = 0;  // of the logits
  int32_t top_k = 0;
};

//   logits  [rows, vocab] f32 on the context's device, which is not the CPU (engine::sample() is
//           the CPU's)
//   rules   [draws]
//   tokens  [draws]  on the host: the call waits for them
// kNotANumber where a row holds NaN. Sums are in double, in an order of their own: where `unit`
// falls within 2^-40 of the boundary between two tokens the CPU may draw the other one.
struct SampleCall {
  static constexpr int32_t kNotANumber = -1;

  const float* logits = nullptr;
  int64_t vocab = 0;
  std::span<const SampleRule> rules;
  std::span<int32_t> tokens;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
