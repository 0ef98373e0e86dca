// Disentangled attention of one head of one text. DisentangledCall::run() gives one head at a time
// to a thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

struct DisentangledHead {
  const float* q = nullptr;  // first token; the next is row_stride floats on
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t row_stride = 0;
  int64_t tokens = 0, head_dim = 0;  // tokens > 0
  float scale = 1.0f;
  const float* position_keys = nullptr;     // [head_dim, position_stride], or null
  const float* position_queries = nullptr;  // [head_dim, position_stride], or null
  int64_t keys_stride = 0, queries_stride = 0;
  const int32_t* buckets = nullptr;  // bucket of distance 0; distances d are -tokens < d < tokens

  // The output: rows of attended values. If `biases` is set, only the position terms of the scores
  // are computed and written there.
  void* out = nullptr;  // row of the first token
  DType out_dtype = DType::kF32;
  int64_t out_stride = 0;  // in elements
  float* biases = nullptr;
  int64_t bias_stride = 0;
};

// Number of floats of scratch for a text of `tokens` tokens. `buckets` is the number of buckets
// from the lowest to the highest that distances in the text have.
size_t disentangled_scratch(int64_t tokens, int64_t head_dim, int64_t buckets);

// Computes one head; `scratch` is aligned to 64 bytes.
void disentangled_head(const DisentangledHead& head, float* scratch, Isa isa);

}  // namespace reprise::kernels::cpu
