// Panels of codes in f32 arithmetic, for every instruction set: multiplies them with a few input
// rows, or expands them to plain weights.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/linear/cpu/quantized_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <hwy/cache_control.h>
#include <algorithm>
#include <type_traits>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/linear_panel-inl.h"
#include "core/kernels/linear/cpu/quantized_panel.h"
#include "core/kernels/linear/quantize.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::Rebind<int32_t, Tag>;
using WordTag = hn::Rebind<uint32_t, Tag>;
using Words = hn::Vec<WordTag>;

// The decoded values of a step (eight inputs) for kN outputs.
template <WeightFormat kFormat>
struct Step {
  static_assert(kFormat != WeightFormat::kNf4Double, "its codes are those of kNf4");
  static constexpr bool kIsBytes = kFormat == WeightFormat::kInt8;

  // `at` points to the first of the outputs in the step's codes: [8][64] bytes for int8, else [64]
  // words.
  HWY_INLINE explicit Step(const void* at) : codes(at) {
    if constexpr (!kIsBytes) words = hn::LoadU(WordTag(), static_cast<const uint32_t*>(at));
  }

  template <int kInput>
  HWY_INLINE Vec value() const {
    if constexpr (kIsBytes) {
      const hn::Rebind<int8_t, Tag> d8;
      const auto bytes = hn::LoadU(d8, static_cast<const int8_t*>(codes) + kInput * 64);
      return hn::ConvertTo(Tag(), hn::PromoteTo(IntTag(), bytes));
    } else {
      return decoded(hn::ShiftRight<16 * (kInput % 2) + 4 * (kInput / 2)>(words));
    }
  }

 private:
  // Decodes the lowest four bits of each word.
  static HWY_INLINE Vec decoded(Words code) {
    const Tag d;
    const auto low = hn::And(code, hn::Set(WordTag(), 15u));
    if constexpr (kFormat == WeightFormat::kInt4) {
      return hn::ConvertTo(d, hn::BitCast(IntTag(), low));
    } else {
#if HWY_TARGET == HWY_AVX3
      const Vec table = hn::LoadU(d, kNf4Quantiles.data());
      return hn::TableLookupLanes(table, hn::IndicesFromVec(d, hn::BitCast(IntTag(), low)));
#elif HWY_TARGET == HWY_AVX2
      const auto low_three = hn::And(code, hn::Set(WordTag(), 7u));
      const auto index = hn::IndicesFromVec(d, hn::BitCast(IntTag(), low_three));
      const Vec lower = hn::TableLookupLanes(hn::LoadU(d, kNf4Quantiles.data()), index);
      const Vec upper = hn::TableLookupLanes(hn::LoadU(d, kNf4Quantiles.data() + 8), index);
      return hn::IfNegativeThenElse(hn::BitCast(d, hn::ShiftLeft<28>(low)), upper, lower);
#else
      return hn::GatherIndex(d, kNf4Quantiles.data(), hn::BitCast(IntTag(), low));
#endif
    }
  }

  const void* codes;
  Words words = hn::Zero(WordTag());
};

// Returns the address of a step's codes from output `column` on.
template <WeightFormat kFormat>
HWY_INLINE const uint8_t* codes_of(const QuantizedPanel& panel, int64_t step, int column) {
  constexpr bool kIsBytes = Step<kFormat>::kIsBytes;
  constexpr int64_t kStepBytes = kIsBytes ? kStepInputs * 64 : 4 * 64;
  return static_cast<const uint8_t*>(panel.codes) + step * kStepBytes + (kIsBytes ? 1 : 4) * column;
}

HWY_INLINE Vec scales_of(const QuantizedPanel& panel, int64_t group, int column) {
  const Tag d;
  if (panel.scales != nullptr) return hn::LoadU(d, panel.scales + group * 64 + column);
  const hn::Rebind<int8_t, Tag> d8;
  const auto bytes = hn::LoadU(d8, panel.scale_codes + group * 64 + column);
  const Vec codes = hn::ConvertTo(d, hn::PromoteTo(IntTag(), bytes));
  return hn::MulAdd(codes, hn::Set(d, panel.scale_steps[group / kScaleBlockGroups]),
                    hn::Set(d, panel.scale_mean));
}

// Adds the products of inputs kInput to 7 of a step to the sums of one vector of outputs.
template <int kInput, WeightFormat kFormat, int kRows, int kVectors>
HWY_INLINE void multiply_inputs(const Step<kFormat>& values, const float* x, int64_t stride, int v,
                                Vec (&sum)[kRows][kVectors]) {
  if constexpr (kInput < kStepInputs) {
    const Vec value = values.template value<kInput>();
    for (int r = 0; r < kRows; ++r)
      sum[r][v] = hn::MulAdd(hn::Set(Tag(), x[r * stride + kInput]), value, sum[r][v]);
    multiply_inputs<kInput + 1>(values, x, stride, v, sum);
  }
}

// Adds to `sum` the unscaled products of steps [first_step, end_step) for kVectors vectors of
// outputs.
template <WeightFormat kFormat, int kRows, int kVectors>
HWY_INLINE void multiply_group(const QuantizedTask& task, int64_t first_step, int64_t end_step,
                               int column, Vec (&sum)[kRows][kVectors]) {
  constexpr bool kIsBytes = Step<kFormat>::kIsBytes;
  const int64_t stride = task.panel.steps * kStepInputs;
  const auto* x = static_cast<const float*>(task.linear.x);
  // Together, the slices of a group prefetch the cache lines of a later group, in the order of
  // memory.
  constexpr int64_t kStepBytes = kIsBytes ? kStepInputs * kOutputs : 4 * kOutputs;
  constexpr int64_t kShare = std::max<int64_t>(64, kStepBytes * kVectors * kN / kOutputs);
  const int64_t group_bytes = (end_step - first_step) * kStepBytes;
  const WeightFetch& fetch = task.linear.fetch;
  const int64_t distance =
      kVectors * kN < kOutputs ? std::max<int64_t>(fetch.bytes, group_bytes) : fetch.bytes;
  const uint8_t* ahead =
      codes_of<kFormat>(task.panel, first_step, 0) + distance + group_bytes * column / kOutputs;
  const bool is_to_l1 = fetch.level == FetchSetting::Level::kL1;
  for (int64_t step = first_step; step < end_step; ++step, ahead += kShare) {
    const uint8_t* codes = codes_of<kFormat>(task.panel, step, column);
    if (fetch.bytes > 0) {
      if (is_to_l1)
        fetch_lines<3, kShare / 64>(ahead);
      else
        fetch_lines<2, kShare / 64>(ahead);
    }
    for (int v = 0; v < kVectors; ++v)
      multiply_inputs<0>(Step<kFormat>(codes + (kIsBytes ? 1 : 4) * kN * v), x + step * kStepInputs,
                         stride, v, sum);
  }
}

// Adds the scaled sums of a group, for a slice of the outputs, to `sums`.
template <WeightFormat kFormat, int kRows>
HWY_INLINE void add_group(const QuantizedTask& task, int64_t group, int column,
                          float (*sums)[kOutputs]) {
  constexpr int kVectors = slice_vectors(kRows);
  const Tag d;
  const QuantizedPanel& panel = task.panel;
  const int64_t groups = panel.groups();
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  const int64_t first = group * panel.group_steps;
  multiply_group<kFormat, kRows, kVectors>(
      task, first, std::min(first + panel.group_steps, panel.steps), column, sum);
  for (int v = 0; v < kVectors; ++v) {
    const int at = column + kN * v;
    const Vec scale = scales_of(panel, group, at);
    for (int r = 0; r < kRows; ++r) {
      Vec total = hn::MulAdd(scale, sum[r][v], hn::LoadU(d, sums[r] + at));
      if constexpr (kFormat == WeightFormat::kInt4)
        total = hn::MulAdd(hn::LoadU(d, panel.minimums + group * kOutputs + at),
                           hn::Set(d, task.x_sums[r * groups + group]), total);
      hn::StoreU(total, d, sums[r] + at);
    }
  }
}

// Computes all slices of outputs of a group before the next group, so that the group's codes are
// still in L1 for its later slices.
template <WeightFormat kFormat, int kRows>
void multiply(const QuantizedTask& task) {
  alignas(64) float sums[kRows][kOutputs] = {};
  for (int64_t group = 0; group < task.panel.groups(); ++group)
    for (int column = 0; column < kOutputs; column += slice_vectors(kRows) * kN)
      add_group<kFormat, kRows>(task, group, column, sums);
  for (int r = 0; r < kRows; ++r) store_row(task.linear, r, sums[r]);
}

template <WeightFormat kFormat>
void multiply_rows(const QuantizedTask& task) {
  with_constant<1, 2, 3, 4>(task.linear.rows,
                            [&](auto rows) { multiply<kFormat, decltype(rows)::value>(task); });
}

// Calls fn with the constant of the panel's code format.
template <typename Fn>
HWY_INLINE void with_codes(WeightFormat format, Fn&& fn) {
  if (format == WeightFormat::kInt8) {
    fn(std::integral_constant<WeightFormat, WeightFormat::kInt8>{});
  } else if (format == WeightFormat::kInt4) {
    fn(std::integral_constant<WeightFormat, WeightFormat::kInt4>{});
  } else {
    fn(std::integral_constant<WeightFormat, WeightFormat::kNf4>{});
  }
}

void QuantizedPanelF32(const QuantizedTask& task) {
  with_codes(task.panel.format, [&](auto format) { multiply_rows<decltype(format)::value>(task); });
}

// Returns words whose upper halves are the nearest bf16 of the values; halfway cases round away
// from zero.
HWY_INLINE Words to_bf16(Vec value) {
  const WordTag d;
  return hn::Add(hn::BitCast(d, value), hn::Set(d, 0x8000u));
}

// Writes the weights of two consecutive inputs for kN outputs; `out` points to those of the first
// input.
template <bool kIsBf16>
HWY_INLINE void store_pair(Vec even, Vec odd, void* out) {
  const Tag d;
  if constexpr (kIsBf16) {
    const WordTag d32;
    const auto low = hn::ShiftRight<16>(to_bf16(even));
    const auto high = hn::And(to_bf16(odd), hn::Set(d32, 0xffff0000u));
    hn::StoreU(hn::Or(low, high), d32, static_cast<uint32_t*>(out));
  } else {
    hn::StoreU(even, d, static_cast<float*>(out));
    hn::StoreU(odd, d, static_cast<float*>(out) + 64);
  }
}

// Writes the expanded weights of inputs kInput to 7 of a step, from `out` on.
template <int kInput, bool kIsBf16, WeightFormat kFormat>
HWY_INLINE void expand_inputs(const Step<kFormat>& values, Vec scale, Vec minimum, float* out) {
  if constexpr (kInput < kStepInputs) {
    // Without minimums, `minimum` is 0.
    const Vec even = hn::MulAdd(scale, values.template value<kInput>(), minimum);
    const Vec odd = hn::MulAdd(scale, values.template value<kInput + 1>(), minimum);
    store_pair<kIsBf16>(even, odd, out);
    expand_inputs<kInput + 2, kIsBf16>(values, scale, minimum, out + (kIsBf16 ? 64 : 2 * 64));
  }
}

// Expands one group of kN outputs.
template <WeightFormat kFormat, bool kIsBf16>
HWY_INLINE void expand_group(const QuantizedPanel& panel, int64_t group, int64_t end_step,
                             int column, float* out) {
  const Vec scale = scales_of(panel, group, column);
  Vec minimum = hn::Zero(Tag());
  if constexpr (kFormat == WeightFormat::kInt4)
    minimum = hn::LoadU(Tag(), panel.minimums + group * 64 + column);
  constexpr int64_t kStepWords = kStepInputs * 64 / (kIsBf16 ? 2 : 1);
  for (int64_t step = group * panel.group_steps; step < end_step; ++step)
    expand_inputs<0, kIsBf16>(Step<kFormat>(codes_of<kFormat>(panel, step, column)), scale, minimum,
                              out + step * kStepWords + column);
}

template <WeightFormat kFormat, bool kIsBf16>
void expand(const QuantizedPanel& panel, int64_t inputs, float* out) {
  const int64_t steps = inputs / kStepInputs;
  for (int64_t group = 0; group * panel.group_steps < steps; ++group) {
    const int64_t end = std::min((group + 1) * panel.group_steps, steps);
    for (int column = 0; column < 64; column += kN)
      expand_group<kFormat, kIsBf16>(panel, group, end, column, out);
  }
}

void ExpandPanel(const QuantizedPanel& panel, int64_t inputs, DType dtype, void* out) {
  with_codes(panel.format, [&](auto format) {
    if (dtype == DType::kBF16) {
      expand<decltype(format)::value, true>(panel, inputs, static_cast<float*>(out));
    } else {
      expand<decltype(format)::value, false>(panel, inputs, static_cast<float*>(out));
    }
  });
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(QuantizedPanelF32);
HWY_EXPORT(ExpandPanel);

void quantized_panel_f32(const QuantizedTask& task, Isa isa) {
  REPRISE_DISPATCH(QuantizedPanelF32, isa)(task);
}

void expand_panel(const QuantizedPanel& panel, int64_t inputs, DType dtype, void* out, Isa isa) {
  REPRISE_DISPATCH(ExpandPanel, isa)(panel, inputs, dtype, out);
}

}  // namespace reprise::kernels::cpu
#endif
