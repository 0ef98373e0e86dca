// Widens vectors of 32-bit words, each of two bf16, to f32: one vector of the even elements and one
// of the odd elements, so that no element changes its lane.
#if defined(REPRISE_BF16_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_BF16_WORDS_INL_H_
#undef REPRISE_BF16_WORDS_INL_H_
#else
#define REPRISE_BF16_WORDS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

// Returns the bf16 in the lower half of each 32-bit word, widened to f32 exactly. `words` holds the
// words as the bits of an f32 vector.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V even_of(D d, V words) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint32_t, D> d32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(d32, words)));
}
// Returns the bf16 in the upper half of each word.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V odd_of(D d, V words) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint32_t, D> d32;
  return hn::BitCast(d, hn::And(hn::BitCast(d32, words), hn::Set(d32, 0xffff0000u)));
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
