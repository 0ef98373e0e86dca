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

// Relative error 1.6e-8 before rounding (polynomial of degree 6, minimax on [-1/2, 1/2]). Below
// 2^-125.5, and for -inf, the result is 0: a masked score has exactly weight 0, and no denormals
// arise. NaN stays NaN, so that corrupt data reaches the logits, where sampling reports it.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exp2_nonpositive(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const V lowest = hn::Set(d, -126.0f);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);  // Max() might turn a NaN into a number
  // Floats in [2^23, 2^24) are whole numbers. So this sum rounds x to a whole number w, and its low
  // bits are w + 126. Used as an exponent, they mean 2^(w - 1), or 0 for w = -126; so the
  // polynomial computes 2 * 2^r.
  const V bias = hn::Set(d, 12582912.0f + 126.0f);
  const V whole = hn::Add(x, bias);
  const V r = hn::Sub(x, hn::Sub(whole, bias));
  V y = hn::Set(d, 2 * 0.00015345811f);
  y = hn::MulAdd(y, r, hn::Set(d, 2 * 0.0013399931f));
  y = hn::MulAdd(y, r, hn::Set(d, 2 * 0.009618489f));
  y = hn::MulAdd(y, r, hn::Set(d, 2 * 0.055503286f));
  y = hn::MulAdd(y, r, hn::Set(d, 2 * 0.24022646f));
  y = hn::MulAdd(y, r, hn::Set(d, 2 * 0.6931472f));
  y = hn::MulAdd(y, r, hn::Set(d, 2.0f));
  // Multiplies, because adding to the exponent's bits would turn a NaN into a finite number.
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, whole))));
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
