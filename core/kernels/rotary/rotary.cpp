#include "core/kernels/rotary/rotary.h"

#include <cmath>

#include "core/base/error.h"
#include "core/device/operation_log.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/rotary/cpu/rotary.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {

void RotaryCall::run(const Context& context) const {
  const OperationSpan span(context, "rotary");
  REPRISE_CHECK(2 * half <= head_dim && heads * head_dim <= row_stride);
  if (DeviceKernels* device = device_kernels(context, "rotary embedding"))
    return device->rotary(*this);
  for_rows(context, rows, row_stride * kFloat,
           [&](int64_t row) { cpu::rotary_row(*this, row, context.isa); });
}

void rotary_angles(std::span<const int32_t> positions, std::span<const float> inverse_frequency,
                   float factor, float* cos, float* sin, const Context& context) {
  if (DeviceKernels* device = device_kernels(context, "rotary angles"))
    return device->rotary_angles(positions, inverse_frequency, factor, cos, sin);
  const auto half = static_cast<int64_t>(inverse_frequency.size());
  // Number of bytes that a core moves in the time of one sine and cosine, about 40 ns.
  constexpr int64_t kBytesPerAngle = 1024;
  for_rows(context, static_cast<int64_t>(positions.size()), half * kBytesPerAngle,
           [&](int64_t row) {
             const auto position = static_cast<float>(positions[static_cast<size_t>(row)]);
             for (int64_t c = 0; c < half; ++c) {
               const float angle = position * inverse_frequency[static_cast<size_t>(c)];
               const auto exact = static_cast<double>(angle);
               cos[row * half + c] = factor * static_cast<float>(std::cos(exact));
               sin[row * half + c] = factor * static_cast<float>(std::sin(exact));
             }
           });
}

}  // namespace reprise::kernels
