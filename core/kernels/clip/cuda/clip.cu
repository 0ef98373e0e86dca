// Clips values on the device. Memory bandwidth is the limit.
#include "core/kernels/clip/cuda/clip.cuh"

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: one thread for each of rows * cols elements, 256 a block. NaN stays NaN, because
// comparisons with NaN are false.
__global__ void __launch_bounds__(kThreads) clip_elements(const ClipCall call) {
  const int64_t index = item_index();
  if (index >= call.rows * call.cols) return;
  const float x = call.data[index];
  if (x > call.limit) call.data[index] = call.limit;
  if (x < -call.limit) call.data[index] = -call.limit;
}

}  // namespace

void clip(const ClipCall& call, cudaStream_t stream) {
  launch({.name = "clip",
          .grid = dim3(blocks_for(call.rows * call.cols, kThreads)),
          .block = dim3(kThreads)},
         stream, clip_elements, call);
}

}  // namespace reprise::kernels::cuda
