// Looks up rows of a table: one thread per element.
#include "core/kernels/embedding/cuda/embedding.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: one thread for each of rows * cols elements, 256 a block. A thread reads an element and
// writes 4 bytes, which it also reads with `accumulate`: memory bandwidth is the limit.
template <typename T>
__global__ void __launch_bounds__(kThreads) pick_elements(const Embedding call) {
  const int64_t index = item_index();
  if (index >= call.rows * call.cols) return;
  const int64_t id = call.ids[index / call.cols];
  float value = NAN;
  if (0 <= id && id < call.entries)
    value =
        static_cast<float>(static_cast<const T*>(call.table)[id * call.cols + index % call.cols]);
  call.out[index] = call.accumulate ? call.out[index] + value : value;
}

}  // namespace

void embedding(const Embedding& call, cudaStream_t stream) {
  const LaunchShape shape{.name = "embedding",
                          .grid = dim3(blocks_for(call.rows * call.cols, kThreads)),
                          .block = dim3(kThreads)};
  visit_device_dtype(
      call.dtype, [&](auto zero) { launch(shape, stream, pick_elements<decltype(zero)>, call); });
}

}  // namespace reprise::kernels::cuda
