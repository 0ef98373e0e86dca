// The greedy next token of each row of logits, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reprise::kernels::cuda {

// The token that engine::sample() takes when it is greedy: the largest logit, the lowest id among
// equals. kNotANumber for a row with a NaN anywhere.
struct GreedyTokens {
  static constexpr int32_t kNotANumber = -1;

  const float* logits = nullptr;  // [rows, vocab]
  int64_t rows = 0;
  int32_t vocab = 0;          // > 0
  int32_t* tokens = nullptr;  // [rows]
};
void greedy_tokens(const GreedyTokens& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
