// Rotary embedding in place: one thread per pair of dimensions.
#include "core/kernels/rotary/cuda/rotary.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: rows * heads * half pairs, 256 a block. Reads and writes the rotated dimensions once, 4
// bytes each; cos and sin of a row come from the caches for all heads but the first. Memory
// bandwidth is the limit.
__global__ void __launch_bounds__(kThreads) rotate_pairs(const RotaryCall call) {
  const int64_t index = item_index();
  if (index >= call.rows * call.heads * call.half) return;
  const int64_t c = index % call.half, head = index / call.half % call.heads;
  const int64_t row = index / call.half / call.heads;
  float* a = call.data + row * call.row_stride + head * call.head_dim + c;
  float* b = a + call.half;
  const float cos = call.cos[row * call.half + c], sin = call.sin[row * call.half + c];
  const float x = *a, y = *b;
  *a = x * cos - y * sin;
  *b = y * cos + x * sin;
}

// Grid: rows * half angles, 256 a block. The angle is rounded to f32, then its sine is computed in
// double; this runs once a step, not once a layer.
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
  launch({.name = "rotary",
          .grid = dim3(blocks_for(call.rows * call.heads * call.half, kThreads)),
          .block = dim3(kThreads)},
         stream, rotate_pairs, call);
}

void rotary_angles(const RotaryAngles& angles, cudaStream_t stream) {
  launch({.name = "rotary_angles",
          .grid = dim3(blocks_for(angles.rows * angles.half, kThreads)),
          .block = dim3(kThreads)},
         stream, compute_angles, angles);
}

}  // namespace reprise::kernels::cuda
