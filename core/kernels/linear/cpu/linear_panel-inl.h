// Code that the linear kernels in f32 arithmetic share: it divides a panel into slices of outputs
// whose sums fit into registers, and writes the panel's sums.
#if defined(REPRISE_LINEAR_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_LINEAR_PANEL_INL_H_
#undef REPRISE_LINEAR_PANEL_INL_H_
#else
#define REPRISE_LINEAR_PANEL_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/shared/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {

// Number of vectors of sums that fit into the registers beside the operands.
constexpr int kAccumulators = HWY_TARGET == HWY_AVX3 ? 24 : 12;
constexpr int kOutputs = 64;

// Number of vectors of outputs that are computed together: the most whose sums fit into registers.
constexpr int slice_vectors(int rows) {
  int vectors = std::max<int>(1, kOutputs / kN);
  while (vectors > 1 && vectors * rows > kAccumulators) vectors /= 2;
  return vectors;
}

// Does what store_outputs() does, a vector at a time if all outputs of the panel are wanted.
HWY_INLINE void store_row(const LinearTask& task, int row, const float* sums) {
  if (task.outputs != kOutputs) return store_outputs(task, row, sums);
  const int64_t first = row * task.out_stride;
  for (int i = 0; i < kOutputs; i += kN) {
    Vec value = load(sums + i);
    if (task.bias != nullptr) value = hn::Add(value, load(task.bias + i));
    if (task.out_dtype == DType::kF32) {
      float* out = static_cast<float*>(task.out) + first + i;
      store(task.accumulate ? hn::Add(load(out), value) : value, out);
    } else {
      store(value, static_cast<bf16*>(task.out) + first + i);
    }
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
