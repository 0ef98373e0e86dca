// Writes new keys and values to the cache: one thread for one or eight dimensions of a row.
#include "core/kernels/kv_write/cuda/kv_write.cuh"

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T, int kCount>
__device__ __forceinline__ void write_rounded(void* cache, int64_t to, const float* from) {
  const auto exact = load_elements<kCount>(from);
  Elements<T, kCount> rounded;
  REPRISE_UNROLL
  for (int i = 0; i < kCount; ++i) rounded.of[i] = rounded_to<T>(exact.of[i]);
  store_elements(static_cast<T*>(cache) + to, rounded);
}

// Grid: grid_of_rows() of kv_heads * head_dim / kCount vectors. Each thread reads 4 bytes of each
// of its dimensions' keys and values and writes an element of each: memory bandwidth is the limit.
template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads) write_elements(const KvWrite write) {
  const auto head_dim = static_cast<unsigned>(write.cache.head_dim);
  const auto in_row = static_cast<unsigned>(item_index()) * kCount;
  if (in_row >= static_cast<unsigned>(write.cache.kv_heads) * head_dim) return;
  const int64_t in_slot = write.layer * write.cache.layer_stride +
                          in_row / head_dim * write.cache.head_stride + in_row % head_dim;
  for (int64_t row = blockIdx.y; row < write.rows; row += gridDim.y) {
    const int64_t slot = write.row_slots[row];
    if (slot == kv::kNoSlot) continue;
    const int64_t from = row * write.row_stride + in_row;
    if (write.keys != nullptr)
      write_rounded<T, kCount>(write.cache.keys, slot + in_slot, write.keys + from);
    write_rounded<T, kCount>(write.cache.values, slot + in_slot, write.values + from);
  }
}

}  // namespace

void write_kv(const KvWrite& write, cudaStream_t stream) {
  constexpr int kMost = 8;
  const kv::CacheView& cache = write.cache;
  // A slot is a token's place in a block: a multiple of head_dim from the cache's begin.
  const bool has_vectors =
      allows_elements(kMost, {cache.keys, cache.values, write.keys, write.values},
                      {cache.layer_stride, cache.head_stride, cache.head_dim, write.row_stride});
  const int64_t width = cache.kv_heads * cache.head_dim;
  const LaunchShape shape{
      .name = "kv_write",
      .grid = grid_of_rows(write.rows, has_vectors ? width / kMost : width, kThreads),
      .block = dim3(kThreads)};
  visit_device_dtype(cache.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(shape, stream, has_vectors ? write_elements<T, kMost> : write_elements<T, 1>, write);
  });
}

}  // namespace reprise::kernels::cuda
