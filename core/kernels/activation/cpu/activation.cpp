// The activation function of one row, plain or gated.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/activation/cpu/activation.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/kernels/activation/cpu/activation.h"
#include "core/kernels/shared/cpu/exp2-inl.h"
#include "core/kernels/shared/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

// e^-|x|. All three activations are computed from it, because it never overflows.
HWY_INLINE Vec exp_of_minus_abs(Vec x) {
  const Tag d;
  return exp2_nonpositive(d, hn::Mul(hn::Abs(x), hn::Set(d, -1.44269504088896f)));
}

// 1 / (1 + e^-x)
HWY_INLINE Vec sigmoid(Vec x) {
  const Tag d;
  const Vec e = exp_of_minus_abs(x);
  const Vec numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, hn::Set(d, 1.0f));
  return hn::Div(numerator, hn::Add(hn::Set(d, 1.0f), e));
}

// x Phi(x), where Phi is the normal distribution function. The smaller tail of the distribution is
// c = erfc(z) / 2 with z = |x| / sqrt 2. So the result is x c for x < 0 and x - x c for x >= 0:
// nothing cancels, and the error is 2e-7 at most, half a unit in the last place of x. erfc(z) = t
// e^(-z^2) P(t - 1/2), t = 2 / (2 + z), where P (degree 8, minimax for 0 <= z <= 9.5, including the
// 1/2 of c) has a relative error of 4e-8.
HWY_INLINE Vec gelu(Vec x) {
  const Tag d;
  const Vec z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118f));
  const Vec two = hn::Set(d, 2.0f);
  const Vec t = hn::Div(two, hn::Add(two, z));
  const Vec u = hn::Sub(t, hn::Set(d, 0.5f));
  Vec p = hn::Set(d, -0.02944545635f);
  p = hn::MulAdd(p, u, hn::Set(d, 0.0240694713f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.0476688929f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.05148654450f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.0859361215f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.0728698895f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.2794696985f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.3435804845f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.2553956805f));
  // For x beyond 64 the tail is 0. Without this bound, infinity times 0 would be NaN.
  const Vec bounded = hn::Min(x, hn::Set(d, 64.0f));
  const Vec tail = hn::Mul(bounded, hn::Mul(hn::Mul(p, t), exp_of_minus_abs(hn::Mul(z, z))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(x, tail));
}

template <ActivationKind kKind>
HWY_INLINE Vec activate(Vec x) {
  const Tag d;
  if constexpr (kKind == ActivationKind::kSilu) return hn::Mul(x, sigmoid(x));
  if constexpr (kKind == ActivationKind::kGelu) return gelu(x);
  // tanh(u) = 2 sigmoid(2u) - 1, so x (1 + tanh u) / 2 = x sigmoid(2u)
  const Vec u = hn::Mul(hn::MulAdd(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 0.044715f), x),
                        hn::Set(d, 1.59576912161f));
  return hn::Mul(x, sigmoid(u));
}

template <ActivationKind kKind, typename T>
void activate_row(const T* x, const T* up, T* out, int64_t cols) {
  const auto at = [&](int64_t i) {
    const Vec y = activate<kKind>(load(x + i));
    return up != nullptr ? hn::Mul(y, load(up + i)) : y;
  };
  int64_t i = 0;
  for (; i + kN <= cols; i += kN) store(at(i), out + i);
  if (i == cols) return;
  T x_tail[kN] = {}, up_tail[kN] = {}, out_tail[kN];
  for (int64_t j = i; j < cols; ++j) {
    x_tail[j - i] = x[j];
    if (up != nullptr) up_tail[j - i] = up[j];
  }
  const Vec y = activate<kKind>(load(x_tail));
  store(up != nullptr ? hn::Mul(y, load(up_tail)) : y, out_tail);
  for (int64_t j = i; j < cols; ++j) out[j] = out_tail[j - i];
}

template <typename T>
void activation_row(const ActivationCall& call, int64_t row) {
  const T* x = static_cast<const T*>(call.x) + row * call.cols * (call.is_gated ? 2 : 1);
  const T* up = call.is_gated ? x + call.cols : nullptr;
  T* out = static_cast<T*>(call.out) + row * call.cols;
  switch (call.kind) {
    case ActivationKind::kSilu:
      return activate_row<ActivationKind::kSilu>(x, up, out, call.cols);
    case ActivationKind::kGelu:
      return activate_row<ActivationKind::kGelu>(x, up, out, call.cols);
    case ActivationKind::kGeluTanh:
      return activate_row<ActivationKind::kGeluTanh>(x, up, out, call.cols);
  }
}

void ActivationRow(const ActivationCall& call, int64_t row) {
  if (call.dtype == DType::kF32) {
    activation_row<float>(call, row);
  } else {
    activation_row<bf16>(call, row);
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(ActivationRow);

void activation_row(const ActivationCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(ActivationRow, isa)(call, row);
}

}  // namespace reprise::kernels::cpu
#endif
