// Multiplies a few input rows with one panel in f32 arithmetic, for every instruction set and both
// weight dtypes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/linear/cpu/linear_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/base/constant.h"
#include "core/device/cpu/tag-inl.h"
#include "core/kernels/linear/cpu/linear_task.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int kN = static_cast<int>(hn::MaxLanes(Tag()));
constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

template <int kRows, bool kBf16, int kLocality>
HWY_INLINE void columns(const LinearTask& task, int column, float (*sums)[64]) {
  const Tag d;
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kVectors; ++c) sum[r][c] = hn::Zero(d);
  const auto* w = static_cast<const float*>(task.panel) + column;
  const char* ahead = reinterpret_cast<const char*>(w) + task.fetch.bytes;
  for (int64_t k = 0; k < task.words; ++k) {
    for (int c = 0; c < kVectors * kN; c += 16) fetch_lines<kLocality, 1>(ahead + 4 * (k * 64 + c));
    if constexpr (kBf16) {
      const hn::Rebind<uint32_t, Tag> du;
      const auto* x = static_cast<const bf16*>(task.x);
      Vec even[kVectors], odd[kVectors];
      for (int c = 0; c < kVectors; ++c) {
        const auto words = hn::BitCast(du, hn::Load(d, w + k * 64 + kN * c));
        even[c] = hn::BitCast(d, hn::ShiftLeft<16>(words));
        odd[c] = hn::BitCast(d, hn::And(words, hn::Set(du, 0xffff0000u)));
      }
      for (int r = 0; r < kRows; ++r) {
        const Vec x0 = hn::Set(d, static_cast<float>(x[2 * (r * task.words + k)]));
        const Vec x1 = hn::Set(d, static_cast<float>(x[2 * (r * task.words + k) + 1]));
        for (int c = 0; c < kVectors; ++c)
          sum[r][c] = hn::MulAdd(x1, odd[c], hn::MulAdd(x0, even[c], sum[r][c]));
      }
    } else {
      Vec values[kVectors];
      for (int c = 0; c < kVectors; ++c) values[c] = hn::Load(d, w + k * 64 + kN * c);
      for (int r = 0; r < kRows; ++r) {
        const Vec x0 = hn::Set(d, static_cast<const float*>(task.x)[r * task.words + k]);
        for (int c = 0; c < kVectors; ++c) sum[r][c] = hn::MulAdd(x0, values[c], sum[r][c]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kVectors; ++c) hn::Store(sum[r][c], d, sums[r] + column + kN * c);
}

template <int kRows, int kLocality>
void panel(const LinearTask& task) {
  alignas(64) float sums[kRows][64];
  for (int column = 0; column < 64; column += kVectors * kN) {
    if (task.dtype == DType::kBF16) {
      columns<kRows, true, kLocality>(task, column, sums);
    } else {
      columns<kRows, false, kLocality>(task, column, sums);
    }
  }
  for (int r = 0; r < kRows; ++r) store_outputs(task, r, sums[r]);
}

void LinearPanel(const LinearTask& task) {
  with_locality(task.fetch, [&](auto locality) {
    with_constant<1, 2, 3, 4, 5, 6>(task.rows, [&](auto rows) {
      panel<decltype(rows)::value, decltype(locality)::value>(task);
    });
  });
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(LinearPanel);

void linear_panel_f32(const LinearTask& task, Isa isa) { REPRISE_DISPATCH(LinearPanel, isa)(task); }

}  // namespace reprise::kernels::cpu
#endif
