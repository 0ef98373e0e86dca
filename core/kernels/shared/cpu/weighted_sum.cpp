// Weighted sums of values. The sums of up to four vectors of a head stay in registers over all
// tokens of a run.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/shared/cpu/weighted_sum.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/device/cpu/tag-inl.h"
#include "core/kernels/shared/cpu/weighted_sum.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(Tag()));

HWY_INLINE Vec load(const float* in) { return hn::LoadU(Tag(), in); }
HWY_INLINE Vec load(const bf16* in) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(in)));
  return hn::BitCast(Tag(), hn::ShiftLeft<16>(bits));
}

template <int kVectors, typename T>
HWY_INLINE void columns(const WeightedSum& task, int64_t first) {
  const Tag d;
  const auto* values = static_cast<const T*>(task.values) + first;
  Vec sum[kVectors];
  for (int i = 0; i < kVectors; ++i) sum[i] = load(task.sum + first + i * kN);
  for (int64_t t = 0; t < task.tokens; ++t) {
    const Vec weight = hn::Set(d, task.weights[t]);
    for (int i = 0; i < kVectors; ++i)
      sum[i] = hn::MulAdd(weight, load(values + t * task.head_dim + i * kN), sum[i]);
  }
  for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, task.sum + first + i * kN);
}

template <typename T>
void add(const WeightedSum& task) {
  int64_t c = 0;
  if constexpr (!std::is_same_v<T, f16>) {  // f16 values are added one by one
    for (; c + 4 * kN <= task.head_dim; c += 4 * kN) columns<4, T>(task, c);
    for (; c + kN <= task.head_dim; c += kN) columns<1, T>(task, c);
  }
  const auto* values = static_cast<const T*>(task.values);
  for (int64_t t = 0; t < task.tokens; ++t)
    for (int64_t i = c; i < task.head_dim; ++i)
      task.sum[i] += task.weights[t] * static_cast<float>(values[t * task.head_dim + i]);
}

void AddWeighted(const WeightedSum& task) {
  visit_dtype(task.dtype, [&](auto zero) { add<decltype(zero)>(task); });
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(AddWeighted);

void add_weighted(const WeightedSum& task, Isa isa) { REPRISE_DISPATCH(AddWeighted, isa)(task); }

}  // namespace reprise::kernels::cpu
#endif
