// Selects, combines and rounds rows. Memory bandwidth is the limit of all three.
#include "core/kernels/rows/cuda/rows.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: x has a thread for each word of a row, 256 a block; y divides the rows, and block y moves
// rows y, y + gridDim.y, ... If `out` is `in`, gridDim.y is 1: a thread moves its column row by
// row, and has read every word before it overwrites it.
template <typename Word>
__global__ void __launch_bounds__(kThreads) move_words(const GatherRows call) {
  const int64_t words = call.row_bytes / static_cast<int64_t>(sizeof(Word));
  const int64_t word = item_index();
  if (word >= words) return;
  const Word* in = static_cast<const Word*>(call.in) + word;
  Word* out = static_cast<Word*>(call.out) + word;
  for (int64_t i = blockIdx.y; i < call.count; i += gridDim.y)
    out[i * words] = in[call.rows[i] * words];
}

// Grid: one thread for each of rows * cols elements, 256 a block. A thread reads per_row floats and
// adds them in order.
__global__ void __launch_bounds__(kThreads) add_rows(const CombineRows call) {
  const int64_t index = item_index();
  if (index >= call.rows * call.cols) return;
  const int64_t row = index / call.cols, col = index % call.cols;
  float sum = call.out[index];
  for (int64_t s = row * call.per_row; s < (row + 1) * call.per_row; ++s)
    sum += call.weights[s] * call.in[call.places[s] * call.cols + col];
  call.out[index] = sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) narrow_elements(const NarrowValues call) {
  const int64_t index = item_index();
  if (index < call.count) static_cast<T*>(call.out)[index] = rounded_to<T>(call.in[index]);
}

template <typename Word>
void move(const GatherRows& call, cudaStream_t stream) {
  constexpr int64_t kMostRowsAtOnce = 1024;
  const int64_t at_once = call.in == call.out            ? 1
                          : call.count < kMostRowsAtOnce ? call.count
                                                         : kMostRowsAtOnce;
  const auto words = call.row_bytes / static_cast<int64_t>(sizeof(Word));
  launch({.name = "gather_rows",
          .grid = dim3(blocks_for(words, kThreads), static_cast<unsigned>(at_once)),
          .block = dim3(kThreads)},
         stream, move_words<Word>, call);
}

}  // namespace

void gather_rows(const GatherRows& call, cudaStream_t stream) {
  if (call.count == 0) return;
  REPRISE_CHECK(call.row_bytes % 2 == 0, "rows of {} bytes", call.row_bytes);
  if (call.row_bytes % 4 == 0) return move<uint32_t>(call, stream);
  move<uint16_t>(call, stream);
}

void combine_rows(const CombineRows& call, cudaStream_t stream) {
  launch({.name = "combine_rows",
          .grid = dim3(blocks_for(call.rows * call.cols, kThreads)),
          .block = dim3(kThreads)},
         stream, add_rows, call);
}

void narrow_values(const NarrowValues& call, cudaStream_t stream) {
  const LaunchShape shape{.name = "narrow_values",
                          .grid = dim3(blocks_for(call.count, kThreads)),
                          .block = dim3(kThreads)};
  visit_device_dtype(
      call.dtype, [&](auto zero) { launch(shape, stream, narrow_elements<decltype(zero)>, call); });
}

}  // namespace reprise::kernels::cuda
