#include "core/kernels/kv_write/kv_write.h"

#include <cstring>
#include <initializer_list>

#include "core/base/error.h"
#include "core/device/operation_log.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/cpu/to_bf16.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {
namespace {

// A token's f32 keys or values, and the place of head 0 in the cache to which they are copied.
template <typename T>
struct TokenCopy {
  const float* in;
  T* out;
};

// Calls fn(in, out, count) for each head of each of `copies`. The strides are copied to local
// variables, because reading them from the view after each store took a fifth of the time of an f32
// row.
template <typename T, typename Fn>
void each_head(const kv::CacheView& cache, std::initializer_list<TokenCopy<T>> copies, Fn&& fn) {
  const int64_t heads = cache.kv_heads, head_dim = cache.head_dim, stride = cache.head_stride;
  for (int64_t head = 0; head < heads; ++head)
    for (const TokenCopy<T>& copy : copies)
      if (copy.in != nullptr) fn(copy.in + head * head_dim, copy.out + head * stride, head_dim);
}

template <typename T>
T* at(void* base, int64_t slot) {
  return static_cast<T*>(base) + slot;
}

// If the cache is f32, writes the keys of all heads and then the values of all heads, which takes
// 0.83 of the time of writing key and value head by head. Otherwise writes head by head: for 512
// rows in bf16, the other order takes 1.08 times as long.
void write_token(const kv::CacheView& cache, const float* keys, const float* values, int64_t slot,
                 Isa isa) {
  switch (cache.dtype) {
    case DType::kF32: {
      const auto copy = [](const float* in, float* out, int64_t count) {
        std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
      };
      each_head<float>(cache, {{keys, at<float>(cache.keys, slot)}}, copy);
      return each_head<float>(cache, {{values, at<float>(cache.values, slot)}}, copy);
    }
    case DType::kBF16:
      return each_head<bf16>(
          cache, {{keys, at<bf16>(cache.keys, slot)}, {values, at<bf16>(cache.values, slot)}},
          [isa](const float* in, bf16* out, int64_t count) { cpu::to_bf16(in, out, count, isa); });
    case DType::kF16:
      return each_head<f16>(
          cache, {{keys, at<f16>(cache.keys, slot)}, {values, at<f16>(cache.values, slot)}},
          [](const float* in, f16* out, int64_t count) {
            convert(in, DType::kF32, out, DType::kF16, static_cast<size_t>(count));
          });
  }
}

}  // namespace

void write_kv(const kv::AttentionPlan& plan, int64_t layer, const float* keys, const float* values,
              int64_t row_stride, const Context& context) {
  if (plan.rows() == 0) return;
  REPRISE_CHECK(!plan.caches.empty(), "{} rows, but no cache to write them to", plan.rows());
  require_device(context.device, "a cache write");
  const OperationSpan span(context, "KV write");
  const kv::CacheView& cache = plan.caches[0];
  for_rows(context, plan.rows(), cache.kv_heads * cache.head_dim * 2 * kFloat, [&](int64_t row) {
    const int64_t row_slot = plan.row_slots[static_cast<size_t>(row)];
    if (row_slot == kv::kNoSlot) return;
    const int64_t slot = row_slot + layer * cache.layer_stride;
    write_token(cache, keys == nullptr ? nullptr : keys + row * row_stride,
                values + row * row_stride, slot, context.isa);
  });
}

}  // namespace reprise::kernels
