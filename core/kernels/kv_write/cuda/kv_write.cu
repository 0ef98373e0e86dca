// Writes new keys and values to the cache: one thread per (row, kv head, dimension).
#include "core/kernels/kv_write/cuda/kv_write.cuh"

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid: rows * kv_heads * head_dim elements, 256 a block. Each thread reads 8 bytes and writes 2
// elements; neighbouring threads access neighbouring addresses.
template <typename T>
__global__ void __launch_bounds__(kThreads) write_elements(const KvWrite write) {
  const int64_t index = item_index(), width = write.cache.kv_heads * write.cache.head_dim;
  if (index >= write.rows * width) return;
  const int64_t row = index / width, in_row = index % width;
  const int64_t slot = write.row_slots[row];
  if (slot == kv::kNoSlot) return;
  const int64_t head = in_row / write.cache.head_dim, c = in_row % write.cache.head_dim;
  const int64_t to =
      slot + write.layer * write.cache.layer_stride + head * write.cache.head_stride + c;
  const int64_t from = row * write.row_stride + in_row;
  if (write.keys != nullptr)
    static_cast<T*>(write.cache.keys)[to] = rounded_to<T>(write.keys[from]);
  static_cast<T*>(write.cache.values)[to] = rounded_to<T>(write.values[from]);
}

}  // namespace

void write_kv(const KvWrite& write, cudaStream_t stream) {
  const LaunchShape shape{
      .name = "kv_write",
      .grid = dim3(blocks_for(write.rows * write.cache.kv_heads * write.cache.head_dim, kThreads)),
      .block = dim3(kThreads)};
  visit_device_dtype(write.cache.dtype, [&](auto zero) {
    launch(shape, stream, write_elements<decltype(zero)>, write);
  });
}

}  // namespace reprise::kernels::cuda
