// RMSNorm and LayerNorm of one row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/norm/cpu/norm.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "core/kernels/norm/cpu/norm.h"
#include "core/kernels/shared/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

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

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(NormRow);

void norm_row(const NormCall& call, int64_t row, Isa isa) {
  REPRISE_DISPATCH(NormRow, isa)(call, row);
}

}  // namespace reprise::kernels::cpu
#endif
