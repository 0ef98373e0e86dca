// 2^x for x <= 0 in f32, for the softmax kernels.
#if defined(REPRISE_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_EXP2_INL_H_
#undef REPRISE_EXP2_INL_H_
#else
#define REPRISE_EXP2_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

// 1.6e-8 relative before rounding (degree 6, minimax on [-1/2, 1/2]). Below 2^-126, and for -inf
// and NaN, the result is 0: a masked score has weight exactly 0, and no denormals arise.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exp2_nonpositive(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const V lowest = hn::Set(d, -126.0f);
  const auto vanishes = hn::Lt(x, lowest);
  x = hn::IfThenElse(vanishes, lowest, x);
  const V whole = hn::Round(x);
  const V r = hn::Sub(x, whole);
  V y = hn::Set(d, 0.00015345811f);
  y = hn::MulAdd(y, r, hn::Set(d, 0.0013399931f));
  y = hn::MulAdd(y, r, hn::Set(d, 0.009618489f));
  y = hn::MulAdd(y, r, hn::Set(d, 0.055503286f));
  y = hn::MulAdd(y, r, hn::Set(d, 0.24022646f));
  y = hn::MulAdd(y, r, hn::Set(d, 0.6931472f));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(di, whole));
  const V scaled = hn::BitCast(d, hn::Add(hn::BitCast(di, y), exponent));
  return hn::IfThenZeroElse(vanishes, scaled);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
