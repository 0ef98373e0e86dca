// Rotary embedding in place: one thread for each pair of dimensions, or for each four pairs.
#include "core/kernels/rotary/cuda/rotary.cuh"

#include <cmath>

#include "core/kernels/rotary/cuda/rotate.cuh"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: grid_of_rows() of heads * half / kCount vectors of pairs. Reads and writes each rotated
// dimension once, 4 bytes each. cos and sin of a row come from memory for the first head, and from
// the caches for all other heads. Memory bandwidth is the limit.
template <int kCount>
__global__ void __launch_bounds__(kThreads) rotate_pairs(const RotaryCall call) {
  let_next_kernel_begin();
  await_previous_kernels();
  const auto index = static_cast<unsigned>(item_index()) * kCount;
  const auto half = static_cast<unsigned>(call.half);
  if (index >= static_cast<unsigned>(call.heads) * half) return;
  const unsigned head = index / half, c = index % half;
  for (int64_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    float* const at = call.data + row * call.row_stride + head * call.head_dim + c;
    const auto [low, high] = rotated_pairs<kCount>(call, row, c, at);
    store_elements(at, low);
    store_elements(at + half, high);
  }
}

// One thread for each of rows * half angles, 256 a block. The angle is rounded to f32; its sine and
// cosine are then computed in double. The kernel runs once a step, not once a layer.
__global__ void __launch_bounds__(kThreads) compute_angles(const RotaryAngles angles) {
  const int64_t index = item_index();
  if (index >= angles.rows * angles.half) return;
  const int64_t row = index / angles.half, c = index % angles.half;
  const float angle = static_cast<float>(angles.positions[row]) * angles.inverse_frequency[c];
  angles.cos[index] = angles.factor * static_cast<float>(::cos(static_cast<double>(angle)));
  angles.sin[index] = angles.factor * static_cast<float>(::sin(static_cast<double>(angle)));
}

}  // namespace

void rotary(const RotaryCall& call, cudaStream_t stream) {
  REPRISE_CHECK(2 * call.half <= call.head_dim && call.heads * call.head_dim <= call.row_stride);
  constexpr int kMost = 4;
  const bool has_vectors = allows_elements(kMost, {call.data, call.cos, call.sin},
                                           {call.row_stride, call.head_dim, call.half});
  const int64_t pairs = call.heads * call.half;
  launch({.name = "rotary",
          .grid = grid_of_rows(call.rows, has_vectors ? pairs / kMost : pairs, kThreads),
          .block = dim3(kThreads),
          .begins_early = true},
         stream, has_vectors ? rotate_pairs<kMost> : rotate_pairs<1>, call);
}

void rotary_angles(const RotaryAngles& angles, cudaStream_t stream) {
  launch({.name = "rotary_angles",
          .grid = dim3(blocks_for(angles.rows * angles.half, kThreads)),
          .block = dim3(kThreads)},
         stream, compute_angles, angles);
}

}  // namespace reprise::kernels::cuda
