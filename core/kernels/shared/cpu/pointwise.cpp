// Norms, activations, rotary embedding and conversions: row operations that touch each element
// once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/shared/cpu/pointwise.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "core/device/cpu/tag-inl.h"
#include "core/kernels/activation/activation.h"
#include "core/kernels/norm/norm.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kernels/shared/cpu/exp2-inl.h"
#include "core/kernels/shared/cpu/pointwise.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(Tag()));

// ---- f32 and bf16 alike: loads widen, stores round to nearest even ----

HWY_INLINE Vec load(const float* in) { return hn::LoadU(Tag(), in); }
HWY_INLINE Vec load(const bf16* in) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(in)));
  return hn::BitCast(Tag(), hn::ShiftLeft<16>(bits));
}
HWY_INLINE void store(Vec value, float* out) { hn::StoreU(value, Tag(), out); }
HWY_INLINE void store(Vec value, bf16* out) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const auto bits = hn::BitCast(d32, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff))));
  // Rounding could carry a NaN into infinity or zero. (Tests with Eq because Highway's Ne is
  // ordered on AVX2 and AVX-512, and Highway 0.16 has no IsNaN.)
  const auto is_number = hn::RebindMask(d32, hn::Eq(value, value));
  rounded = hn::IfThenElse(is_number, rounded, hn::Set(d32, 0x7fc0));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<decltype(d32)>(), rounded)), d16,
             reinterpret_cast<uint16_t*>(out));
}

// Calls step(i) for whole vectors and tail(i) for the elements left.
template <typename Step, typename Tail>
HWY_INLINE void for_each(int64_t count, Step&& step, Tail&& tail) {
  int64_t i = 0;
  for (; i + kN <= count; i += kN) step(i);
  for (; i < count; ++i) tail(i);
}

template <typename Out>
void norm_row(const NormCall& call, const float* x, Out* out) {
  const Tag d;
  float mean = 0.0f;
  if (!call.is_rms) {
    Vec sum = hn::Zero(d);
    float rest = 0.0f;
    for_each(
        call.cols, [&](int64_t i) { sum = hn::Add(sum, load(x + i)); },
        [&](int64_t i) { rest += x[i]; });
    mean = (hn::GetLane(hn::SumOfLanes(d, sum)) + rest) / static_cast<float>(call.cols);
  }
  const Vec center = hn::Set(d, mean);
  Vec squares = hn::Zero(d);
  float rest = 0.0f;
  for_each(
      call.cols,
      [&](int64_t i) {
        const Vec value = hn::Sub(load(x + i), center);
        squares = hn::MulAdd(value, value, squares);
      },
      [&](int64_t i) { rest += (x[i] - mean) * (x[i] - mean); });
  const float variance =
      (hn::GetLane(hn::SumOfLanes(d, squares)) + rest) / static_cast<float>(call.cols);
  const float scale = 1.0f / std::sqrt(variance + call.epsilon);
  const Vec scales = hn::Set(d, scale);
  for_each(
      call.cols,
      [&](int64_t i) {
        Vec y = hn::Mul(hn::Mul(hn::Sub(load(x + i), center), scales), load(call.weight + i));
        if (call.bias != nullptr) y = hn::Add(y, load(call.bias + i));
        store(y, out + i);
      },
      [&](int64_t i) {
        out[i] = Out((x[i] - mean) * scale * call.weight[i] +
                     (call.bias != nullptr ? call.bias[i] : 0.0f));
      });
}

void NormRow(const NormCall& call, int64_t row) {
  const float* x = call.x + row * call.cols;
  if (call.out_dtype == DType::kF32) {
    norm_row(call, x, static_cast<float*>(call.out) + row * call.cols);
  } else {
    norm_row(call, x, static_cast<bf16*>(call.out) + row * call.cols);
  }
}

// e^-|x|, which never overflows; all three activations use it.
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

// x Phi(x), where Phi is the normal distribution function. Its smaller tail is c = erfc(z) / 2 with
// z = |x| / sqrt 2, so the result is x c for x < 0 and x - x c otherwise: nothing cancels, and the
// error is at most 2e-7, half a unit in the last place of x. erfc(z) = t e^(-z^2) P(t - 1/2), t = 2
// / (2 + z), where P (degree 8, minimax for 0 <= z <= 9.5, including the 1/2 of c) has relative
// error 4e-8.
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
  // Beyond 64 the tail is 0; without this bound, infinity times 0 would be NaN.
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

// Comparisons with NaN are false, so NaN stays.
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

HWY_EXPORT(NormRow);
HWY_EXPORT(ActivationRow);
HWY_EXPORT(RotaryRow);
HWY_EXPORT(Clip);
HWY_EXPORT(ToBf16);

void norm_row(const NormCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(NormRow, isa)(call, row);
}
void activation_row(const ActivationCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(ActivationRow, isa)(call, row);
}
void rotary_row(const RotaryCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(RotaryRow, isa)(call, row);
}
void clip(float* data, int64_t count, float limit, Isa isa) {
  REPRISE_DISPATCH(Clip, isa)(data, count, limit);
}
void to_bf16(const float* in, bf16* out, int64_t count, Isa isa) {
  REPRISE_DISPATCH(ToBf16, isa)(in, out, count);
}

}  // namespace reprise::kernels::cpu
#endif
