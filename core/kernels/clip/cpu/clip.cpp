// Clips one row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/clip/cpu/clip.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/kernels/clip/cpu/clip.h"
#include "core/kernels/shared/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

// NaN stays NaN, because comparisons with NaN are false.
void Clip(float* data, int64_t count, float limit) {
  const Tag d;
  const Vec high = hn::Set(d, limit), low = hn::Set(d, -limit);
  for_each(
      count,
      [&](int64_t i) {
        const Vec x = load(data + i);
        const Vec raised = hn::IfThenElse(hn::Lt(x, low), low, x);
        store(hn::IfThenElse(hn::Gt(x, high), high, raised), data + i);
      },
      [&](int64_t i) {
        if (data[i] < -limit) data[i] = -limit;
        if (data[i] > limit) data[i] = limit;
      });
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(Clip);

void clip(float* data, int64_t count, float limit, Isa isa) {
  REPRISE_DISPATCH(Clip, isa)(data, count, limit);
}

}  // namespace reprise::kernels::cpu
#endif
