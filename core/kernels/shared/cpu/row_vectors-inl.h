// Loads and stores vectors of a row of f32 or bf16, for kernels that read each element of a row
// once. Loads widen to f32; stores to bf16 round to nearest even.
#if defined(REPRISE_ROW_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_ROW_VECTORS_INL_H_
#undef REPRISE_ROW_VECTORS_INL_H_
#else
#define REPRISE_ROW_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu/tag-inl.h"

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
HWY_INLINE void store(Vec value, float* out) { hn::StoreU(value, Tag(), out); }
HWY_INLINE void store(Vec value, bf16* out) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const auto bits = hn::BitCast(d32, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff))));
  // Rounding could carry a NaN into infinity or zero. (NaNs are found by Eq, not by Ne: Highway's
  // Ne is ordered on AVX2 and AVX-512, and 0.16 has no IsNaN.)
  const auto is_number = hn::RebindMask(d32, hn::Eq(value, value));
  rounded = hn::IfThenElse(is_number, rounded, hn::Set(d32, 0x7fc0));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<decltype(d32)>(), rounded)), d16,
             reinterpret_cast<uint16_t*>(out));
}

// Calls step(i) for each whole vector, which begins at element i, and tail(i) for each remaining
// element i.
template <typename Step, typename Tail>
HWY_INLINE void for_each(int64_t count, Step&& step, Tail&& tail) {
  int64_t i = 0;
  for (; i + kN <= count; i += kN) step(i);
  for (; i < count; ++i) tail(i);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
