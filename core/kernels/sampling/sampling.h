// Samples the next token from rows of logits in a device's memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"

namespace reprise::kernels {

// How one token is drawn. temperature 0 or top_k 1: the largest logit, the lowest id among equals.
// Otherwise p = softmax(logits / temperature), and in this order:
//   the top_k most probable tokens stay (0: all), the lowest id first among equals;
//   of these, by descending p, the fewest stay whose sum of p is at least top_p times the sum of
//   all of them;
//   of those, by descending p, the first is drawn at which the running sum of p exceeds `unit`, a
//   random number in [0, 1), times the sum of all of them.
struct SampleRule {
  double temperature = 0.0;
  double top_p = 1.0;
  double unit = 0.0;
  int64_t row = 0;  // row of the logits
  int32_t top_k = 0;
};

//   logits  [rows, vocab] f32 on the context's device, which must not be the CPU: there use
//           engine::sample_rows()
//   rules   [draws]
//   tokens  [draws]  on the host: the call waits for them
// The token is kNotANumber if the row holds NaN. Sums are in double, but not in the CPU's order: if
// `unit` is within 2^-40 of the boundary between two tokens, engine::sample_rows() may draw the
// other token.
struct SampleCall {
  static constexpr int32_t kNotANumber = -1;

  const float* logits = nullptr;
  int64_t vocab = 0;
  std::span<const SampleRule> rules;
  std::span<int32_t> tokens;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
