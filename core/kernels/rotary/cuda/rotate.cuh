// The rotation of rotary embedding, shared by the kernels that rotate.
#pragma once

#include <cstdint>

#include "core/kernels/rotary/rotary.h"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {

template <int kCount>
struct RotatedPairs {
  Elements<float, kCount> low, high;
};

// Returns kCount pairs of a head, from pair `c` on, rotated by the angles of `row`. `at` points to
// the head's element c.
template <int kCount>
__device__ __forceinline__ RotatedPairs<kCount> rotated_pairs(const RotaryCall& call, int64_t row,
                                                              unsigned c, const float* at) {
  const auto x = load_elements<kCount>(at), y = load_elements<kCount>(at + call.half);
  const auto cos = load_elements<kCount>(call.cos + row * call.half + c);
  const auto sin = load_elements<kCount>(call.sin + row * call.half + c);
  RotatedPairs<kCount> out;
  REPRISE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    out.low.of[i] = x.of[i] * cos.of[i] - y.of[i] * sin.of[i];
    out.high.of[i] = y.of[i] * cos.of[i] + x.of[i] * sin.of[i];
  }
  return out;
}

}  // namespace reprise::kernels::cuda
