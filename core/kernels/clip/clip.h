// Clamps values, as MPT does with its queries, keys and values.
#pragma once

#include <cstdint>

#include "core/device/context.h"

namespace reprise::kernels {

// data [rows, cols] f32, in place: min(max(x, -limit), limit); NaN stays NaN. limit > 0.
struct ClipCall {
  float* data = nullptr;
  int64_t rows = 0, cols = 0;
  float limit = 0.0f;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
