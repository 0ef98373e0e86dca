// Rotary embedding of the heads of a row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/rotary/cpu/rotary.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/kernels/rotary/cpu/rotary.h"
#include "core/kernels/shared/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

void RotaryRow(const RotaryCall& call, int64_t row) {
  const float* cos = call.cos + row * call.half;
  const float* sin = call.sin + row * call.half;
  for (int64_t head = 0; head < call.heads; ++head) {
    float* a = call.data + row * call.row_stride + head * call.head_dim;
    float* b = a + call.half;
    for_each(
        call.half,
        [&](int64_t c) {
          const Vec x = load(a + c), y = load(b + c), cc = load(cos + c), ss = load(sin + c);
          store(hn::NegMulAdd(y, ss, hn::Mul(x, cc)), a + c);
          store(hn::MulAdd(x, ss, hn::Mul(y, cc)), b + c);
        },
        [&](int64_t c) {
          const float x = a[c], y = b[c];
          a[c] = x * cos[c] - y * sin[c];
          b[c] = y * cos[c] + x * sin[c];
        });
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(RotaryRow);

void rotary_row(const RotaryCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(RotaryRow, isa)(call, row);
}

}  // namespace reprise::kernels::cpu
#endif
