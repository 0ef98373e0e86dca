// Greedy sampling: one block per row of logits.
#include "core/kernels/sampling/cuda/sampling.cuh"

#include <algorithm>
#include <cmath>

#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kMostThreads = 512;

struct Candidate {
  float logit;
  int32_t id;
};

__device__ __forceinline__ bool is_nan(float x) { return x != x; }

// Returns the better of two candidates: one with NaN, else the one with the larger logit, else the
// one with the lower id. This order is total, so candidates may be compared in any order.
__device__ __forceinline__ Candidate better(const Candidate& a, const Candidate& b) {
  const bool a_is_nan = is_nan(a.logit), b_is_nan = is_nan(b.logit);
  if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
  if (a.logit != b.logit && !a_is_nan) return a.logit > b.logit ? a : b;
  return a.id < b.id ? a : b;
}

__device__ __forceinline__ Candidate best_of_warp(Candidate best) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const Candidate other{__shfl_xor_sync(kAllLanes, best.logit, lanes),
                          __shfl_xor_sync(kAllLanes, best.id, lanes)};
    best = better(best, other);
  }
  return best;
}

// Grid: one block for each row. Block: up to 512 threads; thread t reads logits t, t + threads, ...
// A block reads 4 * vocab bytes once: memory bandwidth is the limit.
__global__ void __launch_bounds__(kMostThreads) pick_largest(const GreedyTokens call) {
  REPRISE_SHARED(Candidate[kWarp], bests);
  const float* logits = call.logits + static_cast<int64_t>(blockIdx.x) * call.vocab;
  const int32_t warp = static_cast<int32_t>(threadIdx.x) / kWarp;
  const int32_t lane = static_cast<int32_t>(threadIdx.x) % kWarp;
  const int32_t step = static_cast<int32_t>(blockDim.x);
  Candidate best{-INFINITY, call.vocab};  // any logit is better; -inf has the lower id
  for (int32_t id = static_cast<int32_t>(threadIdx.x); id < call.vocab; id += step)
    best = better(best, {logits[id], id});
  best = best_of_warp(best);
  if (lane == 0) bests[warp] = best;
  __syncthreads();
  if (warp != 0) return;
  best = lane < step / kWarp ? bests[lane] : Candidate{-INFINITY, call.vocab};
  best = best_of_warp(best);
  if (lane == 0) call.tokens[blockIdx.x] = is_nan(best.logit) ? GreedyTokens::kNotANumber : best.id;
}

}  // namespace

void greedy_tokens(const GreedyTokens& call, cudaStream_t stream) {
  const int warps = std::min((call.vocab + kWarp - 1) / kWarp, kMostThreads / kWarp);
  launch({.name = "greedy_tokens",
          .grid = dim3(static_cast<unsigned>(call.rows)),
          .block = dim3(static_cast<unsigned>(warps * kWarp))},
         stream, pick_largest, call);
}

}  // namespace reprise::kernels::cuda
