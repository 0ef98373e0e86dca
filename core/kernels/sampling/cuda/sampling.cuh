// The greedy next token of each row of logits, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reprise::kernels::cuda {

// Computes the token that engine::sample() takes at temperature 0: the one of the largest logit,
// and among equal logits the one of the lowest id. A row that contains NaN gets kNotANumber.
struct GreedyTokens {
  static constexpr int32_t kNotANumber = -1;

  const float* logits = nullptr;  // [rows, vocab]
  int64_t rows = 0;
  int32_t vocab = 0;          // > 0
  int32_t* tokens = nullptr;  // [rows]
};
void greedy_tokens(const GreedyTokens& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
