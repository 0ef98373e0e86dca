// Spreads the row operations over threads: norms, activations, rotary embedding, cache writes.
#include "core/kernels/cpu/pointwise.h"

#include <cmath>

#include "core/base/error.h"
#include "core/kernels/activation.h"
#include "core/kernels/device_kernels.h"
#include "core/kernels/for_rows.h"
#include "core/kernels/kv_write.h"
#include "core/kernels/norm.h"
#include "core/kernels/rotary.h"

namespace reprise::kernels {
namespace {

constexpr int64_t kFloat = sizeof(float);

}  // namespace

void NormCall::run(const Context& context) const {
  if (DeviceKernels* device = device_kernels(context, "a norm")) return device->norm(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::norm_row(*this, row, context.isa); });
}

void ActivationCall::run(const Context& context) const {
  if (DeviceKernels* device = device_kernels(context, "an activation"))
    return device->activation(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::activation_row(*this, row, context.isa); });
}

void RotaryCall::run(const Context& context) const {
  REPRISE_CHECK(2 * half <= head_dim && heads * head_dim <= row_stride);
  if (DeviceKernels* device = device_kernels(context, "rotary embedding"))
    return device->rotary(*this);
  for_rows(context, rows, row_stride * kFloat,
           [&](int64_t row) { cpu::rotary_row(*this, row, context.isa); });
}

void rotary_angles(std::span<const int32_t> positions, std::span<const float> inverse_frequency,
                   float* cos, float* sin, const Context& context) {
  if (DeviceKernels* device = device_kernels(context, "rotary angles"))
    return device->rotary_angles(positions, inverse_frequency, cos, sin);
  const auto half = static_cast<int64_t>(inverse_frequency.size());
  // A sine and cosine cost about 40 ns: count them as the bytes a core moves in that time.
  constexpr int64_t kBytesPerAngle = 1024;
  for_rows(context, static_cast<int64_t>(positions.size()), half * kBytesPerAngle,
           [&](int64_t row) {
             const auto position = static_cast<float>(positions[static_cast<size_t>(row)]);
             for (int64_t c = 0; c < half; ++c) {
               const float angle = position * inverse_frequency[static_cast<size_t>(c)];
               cos[row * half + c] = static_cast<float>(std::cos(static_cast<double>(angle)));
               sin[row * half + c] = static_cast<float>(std::sin(static_cast<double>(angle)));
             }
           });
}

void write_kv(const kv::AttentionPlan& plan, int64_t layer, const float* keys, const float* values,
              int64_t row_stride, const Context& context) {
  if (plan.rows() == 0) return;
  REPRISE_CHECK(!plan.caches.empty(), "{} rows, but no cache to write them to", plan.rows());
  const kv::CacheView& cache = plan.caches[0];
  const auto count = static_cast<size_t>(cache.head_dim);
  const size_t element = size_of(cache.dtype);
  const auto copy = [&](const float* in, void* base, int64_t offset) {
    char* out = static_cast<char*>(base) + static_cast<size_t>(offset) * element;
    if (cache.dtype == DType::kBF16) {
      cpu::to_bf16(in, reinterpret_cast<bf16*>(out), cache.head_dim, context.isa);
    } else {
      convert(in, DType::kF32, out, cache.dtype, count);
    }
  };
  require_device(context.device, "a cache write");
  for_rows(context, plan.rows(), cache.kv_heads * cache.head_dim * 2 * kFloat, [&](int64_t row) {
    const int64_t row_slot = plan.row_slots[static_cast<size_t>(row)];
    if (row_slot == kv::kNoSlot) return;
    const int64_t slot = row_slot + layer * cache.layer_stride;
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      const int64_t source = row * row_stride + head * cache.head_dim;
      if (keys != nullptr) copy(keys + source, cache.keys, slot + head * cache.head_stride);
      copy(values + source, cache.values, slot + head * cache.head_stride);
    }
  });
}

}  // namespace reprise::kernels
