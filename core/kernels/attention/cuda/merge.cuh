// Merges partial results of attention on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda {

// kernels::merge_partials() with device pointers:
//   out = sum_i exp(m_i - m) o_i / sum_i exp(m_i - m) n_i, m = max_i m_i  [ChunkAttention eq. 2;
//   RelayAttention eq. 7]
// for each merged row and head. A row that has no parts, or only parts that saw no key (n = 0),
// becomes 0. The o of a part that saw no key is ignored. Rows that are not in `rows` are not
// changed.
struct MergeCall {
  const int32_t* rows = nullptr;     // [merged]  rows of out; -1: padding, nothing is written
  const int32_t* begin = nullptr;    // [merged + 1]  CSR into entries
  const int64_t* entries = nullptr;  // entries of each merged row's parts, head 0
  int64_t merged = 0;
  const float* o = nullptr;  // [entries, head_dim], the heads of a (part, row) one after the other
  const float* m = nullptr;  // [entries], natural logarithm units
  const float* n = nullptr;  // [entries]
  int64_t heads = 0, head_dim = 0;
  void* out = nullptr;  // [rows, heads * head_dim]
  DType out_dtype = DType::kF32;
};
void merge_partials(const MergeCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
