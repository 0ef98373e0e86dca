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

// Relative error 1.6e-8 before rounding (degree 6, minimax on [-1/2, 1/2]). Below 2^-126, and for
// -inf, the result is 0: a masked score has exactly weight 0, and no denormals arise. NaN stays
// NaN, so that corrupt data reaches the logits, where sampling reports it.
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
  // Multiplies instead of adding to the exponent's bits, which would turn a NaN into a finite
  // number.
  const auto exponent = hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127));
  return hn::IfThenZeroElse(vanishes, hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(exponent))));
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
