// Writes new keys and values to the KV cache: one thread for each dimension of a row, or for each
// eight dimensions.
#include "core/kernels/kv_write/cuda/kv_write.cuh"

#include "core/base/error.h"
#include "core/kernels/rotary/cuda/rotary.cuh"
#include "core/kernels/rotary/cuda/rotate.cuh"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTogether = 4;  // elements that rotate_and_write() reads at a time

template <typename T, int kCount>
__device__ __forceinline__ Elements<T, kCount> rounded_elements(
    const Elements<float, kCount>& exact) {
  Elements<T, kCount> rounded;
  REPRISE_UNROLL
  for (int i = 0; i < kCount; ++i) rounded.of[i] = rounded_to<T>(exact.of[i]);
  return rounded;
}

template <typename T, int kCount>
__device__ __forceinline__ void write_rounded(void* cache, int64_t to, const float* from) {
  store_elements(static_cast<T*>(cache) + to, rounded_elements<T>(load_elements<kCount>(from)));
}

// Returns the distance, in elements, from a row's slot in the cache to dimension c of a head's key
// and value.
__device__ __forceinline__ int64_t in_slot(const KvWrite& write, unsigned head, unsigned c) {
  return write.layer * write.cache.layer_stride + head * write.cache.head_stride + c;
}

// Grid: grid_of_rows() of kv_heads * head_dim / kCount vectors. For each of its dimensions, a
// thread reads 4 bytes of the key and of the value, and writes an element of each: memory bandwidth
// is the limit.
template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads) write_elements(const KvWrite write) {
  let_next_kernel_begin();
  await_previous_kernels();
  const auto head_dim = static_cast<unsigned>(write.cache.head_dim);
  const auto in_row = static_cast<unsigned>(item_index()) * kCount;
  if (in_row >= static_cast<unsigned>(write.cache.kv_heads) * head_dim) return;
  const int64_t behind_slot = in_slot(write, in_row / head_dim, in_row % head_dim);
  for (int64_t row = blockIdx.y; row < write.rows; row += gridDim.y) {
    const int64_t slot = write.row_slots[row];
    if (slot == kv::kNoSlot) continue;
    const int64_t from = row * write.row_stride + in_row;
    if (write.keys != nullptr)
      write_rounded<T, kCount>(write.cache.keys, slot + behind_slot, write.keys + from);
    write_rounded<T, kCount>(write.cache.values, slot + behind_slot, write.values + from);
  }
}

// Rotates one pair of vectors of a query or key. A query is written back to its row, a key to the
// cache.
template <typename T>
__device__ __forceinline__ void rotate_one(const RotaryCall& rotary, const KvWrite& write,
                                           unsigned query_heads, int64_t row, unsigned pair) {
  const auto half = static_cast<unsigned>(rotary.half);
  const unsigned head = pair / half, c = pair % half;
  float* const at = rotary.data + row * rotary.row_stride + head * rotary.head_dim + c;
  const auto [low, high] = rotated_pairs<kTogether>(rotary, row, c, at);
  if (head < query_heads) {
    store_elements(at, low);
    store_elements(at + half, high);
    return;
  }
  const int64_t slot = write.row_slots[row];
  if (slot == kv::kNoSlot) return;
  T* const key = static_cast<T*>(write.cache.keys) + slot + in_slot(write, head - query_heads, c);
  store_elements(key, rounded_elements<T>(low));
  store_elements(key + half, rounded_elements<T>(high));
}

// Grid: grid_of_rows() of a row's vectors: first the pairs of rotated dimensions of all heads, then
// the other dimensions of the keys, then the values. Each is read once and written once: memory
// bandwidth is the limit.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    rotate_and_write(const RotaryCall rotary, const KvWrite write) {
  let_next_kernel_begin();
  await_previous_kernels();
  const auto kv_heads = static_cast<unsigned>(write.cache.kv_heads);
  const auto head_dim = static_cast<unsigned>(write.cache.head_dim);
  const auto heads = static_cast<unsigned>(rotary.heads), half = static_cast<unsigned>(rotary.half);
  const unsigned rest = head_dim - 2 * half;  // dimensions of a key that are not rotated
  unsigned element = static_cast<unsigned>(item_index()) * kTogether;
  const bool is_pair = element < heads * half;
  if (!is_pair) element -= heads * half;
  const bool is_key = element < kv_heads * rest;
  if (!is_pair && !is_key) element -= kv_heads * rest;
  if (!is_pair && element >= kv_heads * head_dim) return;
  for (int64_t row = blockIdx.y; row < write.rows; row += gridDim.y) {
    if (is_pair) {
      rotate_one<T>(rotary, write, heads - kv_heads, row, element);
      continue;
    }
    const int64_t slot = write.row_slots[row];
    if (slot == kv::kNoSlot) continue;
    const unsigned head = is_key ? element / rest : element / head_dim;
    const unsigned c = is_key ? 2 * half + element % rest : element % head_dim;
    const float* const from =
        (is_key ? write.keys : write.values) + row * write.row_stride + head * head_dim + c;
    T* const cache = static_cast<T*>(is_key ? write.cache.keys : write.cache.values);
    store_elements(cache + slot + in_slot(write, head, c),
                   rounded_elements<T>(load_elements<kTogether>(from)));
  }
}

}  // namespace

void rotate_and_write_kv(const RotaryCall& rotary, const KvWrite& write, cudaStream_t stream) {
  const kv::CacheView& cache = write.cache;
  REPRISE_CHECK(rotary.rows == write.rows && rotary.heads >= cache.kv_heads &&
                write.keys == rotary.data + (rotary.heads - cache.kv_heads) * cache.head_dim);
  if (!allows_elements(
          kTogether,
          {cache.keys, cache.values, rotary.data, write.keys, write.values, rotary.cos, rotary.sin},
          {cache.layer_stride, cache.head_stride, cache.head_dim, write.row_stride,
           rotary.row_stride, rotary.half})) {
    cuda::rotary(rotary, stream);
    return write_kv(write, stream);
  }
  const int64_t elements =
      rotary.heads * rotary.half + cache.kv_heads * (2 * cache.head_dim - 2 * rotary.half);
  const LaunchShape shape{.name = "rotate_and_write",
                          .grid = grid_of_rows(write.rows, elements / kTogether, kThreads),
                          .block = dim3(kThreads),
                          .begins_early = true};
  visit_device_dtype(cache.dtype, [&](auto zero) {
    launch(shape, stream, rotate_and_write<decltype(zero)>, rotary, write);
  });
}

void write_kv(const KvWrite& write, cudaStream_t stream) {
  constexpr int kMost = 8;
  const kv::CacheView& cache = write.cache;
  // head_dim is among the distances, because a row slot is a multiple of head_dim elements behind
  // the cache's begin.
  const bool has_vectors =
      allows_elements(kMost, {cache.keys, cache.values, write.keys, write.values},
                      {cache.layer_stride, cache.head_stride, cache.head_dim, write.row_stride});
  const int64_t width = cache.kv_heads * cache.head_dim;
  const LaunchShape shape{
      .name = "kv_write",
      .grid = grid_of_rows(write.rows, has_vectors ? width / kMost : width, kThreads),
      .block = dim3(kThreads),
      .begins_early = true};
  visit_device_dtype(cache.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(shape, stream, has_vectors ? write_elements<T, kMost> : write_elements<T, 1>, write);
  });
}

}  // namespace reprise::kernels::cuda
