#include "core/kernels/device/cuda/probe_kernels.cuh"

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

__device__ __forceinline__ uint32_t mixed(const uint4& word) {
  return word.x ^ word.y ^ word.z ^ word.w;
}

// Grid: call.blocks blocks. Thread i of the grid reads words i, i + threads, ..., with four loads
// in flight; the words that a warp reads at once are adjacent. Reads 16 bytes a word and writes 4
// bytes a thread: the memory that contains the words is the limit.
__global__ void __launch_bounds__(ReadWords::kThreads) sum_words(const ReadWords call) {
  const auto* data = static_cast<const uint4*>(call.data);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first = item_index();
  uint32_t sum = 0;
  int64_t i = first;
  for (; i + 3 * step < call.words; i += 4 * step) {
    const uint4 a = data[i], b = data[i + step], c = data[i + 2 * step], d = data[i + 3 * step];
    sum += mixed(a) + mixed(b) + mixed(c) + mixed(d);
  }
  for (; i < call.words; i += step) sum += mixed(data[i]);
  call.sums[first] = sum;
}

constexpr int kFillThreads = 256;

// Grid: one thread for each of `count` words, 256 a block. Writes 4 bytes a thread: memory
// bandwidth is the limit.
__global__ void __launch_bounds__(kFillThreads) write_random(uint32_t* words, int64_t count) {
  const int64_t index = item_index();
  if (index >= count) return;
  uint32_t bits = static_cast<uint32_t>(index) * 2654435761u;
  bits = (bits ^ (bits >> 15)) * 2246822519u;
  words[index] = ((bits ^ (bits >> 13)) & 0x807f807fu) | 0x3f003f00u;
}

// Grid: one block. Launched to time launches.
__global__ void do_nothing() {}

}  // namespace

void read_words(const ReadWords& call, cudaStream_t stream) {
  launch({.name = "read_words", .grid = dim3(call.blocks), .block = dim3(ReadWords::kThreads)},
         stream, sum_words, call);
}

void fill_random(uint32_t* words, int64_t count, cudaStream_t stream) {
  launch({.name = "fill_random",
          .grid = dim3(blocks_for(count, kFillThreads)),
          .block = dim3(kFillThreads)},
         stream, write_random, words, count);
}

void launch_nothing(cudaStream_t stream) {
  launch({.name = "nothing", .grid = dim3(1), .block = dim3(32)}, stream, do_nothing);
}

}  // namespace reprise::kernels::cuda
