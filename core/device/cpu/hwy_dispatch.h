// Calls a Highway function for the instruction set of a Context. Include this header in a .cpp file
// after foreach_target.h, inside `#if HWY_ONCE`, because the set of compiled targets differs
// between translation units.
#pragma once

#include <hwy/highway.h>

#include "core/device/cpu.h"

namespace reprise::cpu {

// Index into a HWY_EXPORT table: the strongest compiled target that is no stronger than `isa`.
[[maybe_unused]] static size_t target_index(Isa isa) {
#if defined(__x86_64__)
  int64_t targets = 0;
  if (isa >= Isa::kAvx2) targets |= HWY_AVX2;
  if (isa >= Isa::kAvx512) targets |= HWY_AVX3;
#if HWY_MAJOR == 0  // Highway 0.x: Update() takes no targets
  const auto mask =
      HWY_CHOSEN_TARGET_SHIFT(static_cast<uint32_t>(targets)) | HWY_CHOSEN_TARGET_MASK_SCALAR;
  return hwy::Num0BitsBelowLS1Bit_Nonzero32(mask & HWY_CHOSEN_TARGET_MASK_TARGETS);
#else
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  return chosen.GetIndex();
#endif
#else
  (void)isa;
#if HWY_MAJOR == 0
  hwy::GetChosenTarget().Update();
#else
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
  return hwy::GetChosenTarget().GetIndex();
#endif
}

}  // namespace reprise::cpu

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define REPRISE_DISPATCH(FUNCTION, isa) HWY_STATIC_DISPATCH(FUNCTION)
#else
#define REPRISE_DISPATCH(FUNCTION, isa) \
  (*(HWY_DISPATCH_TABLE(FUNCTION)[::reprise::cpu::target_index(isa)]))
#endif
