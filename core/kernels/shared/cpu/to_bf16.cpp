// Rounds numbers to bf16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/shared/cpu/to_bf16.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/kernels/shared/cpu/row_vectors-inl.h"
#include "core/kernels/shared/cpu/to_bf16.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

void ToBf16(const float* in, bf16* out, int64_t count) {
  for_each(
      count, [&](int64_t i) { store(load(in + i), out + i); },
      [&](int64_t i) { out[i] = bf16(in[i]); });
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(ToBf16);

void to_bf16(const float* in, bf16* out, int64_t count, Isa isa) {
  REPRISE_DISPATCH(ToBf16, isa)(in, out, count);
}

}  // namespace reprise::kernels::cpu
#endif
