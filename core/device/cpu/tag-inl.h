// The vector type of the kernels: whole vectors of at most 16 lanes, because the kernels' buffers
// are sized for 16 lanes.
#if defined(REPRISE_TAG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_TAG_INL_H_
#undef REPRISE_TAG_INL_H_
#else
#define REPRISE_TAG_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace reprise::cpu::HWY_NAMESPACE {

#if HWY_HAVE_SCALABLE
template <typename T>
using WholeTag = hwy::HWY_NAMESPACE::CappedTag<T, 16>;
#else  // vectors here have at most 64 bytes; Highway 0.16 lacks CappedTag for one-lane vectors
template <typename T>
using WholeTag = hwy::HWY_NAMESPACE::ScalableTag<T>;
#endif

}  // namespace reprise::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
