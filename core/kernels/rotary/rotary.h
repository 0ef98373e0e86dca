// Rotary position embedding for explicit positions, which may be in any order and have gaps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"

namespace reprise::kernels {

// Rotates the first `2 * half` dimensions of each head in pairs (c, c + half):
//   (a, b) -> (a cos t - b sin t, b cos t + a sin t),  t = position * inverse_frequency[c]
//   data      [rows, row_stride] f32; the first `heads` heads of head_dim (queries, then keys) are
//             rotated in place
//   cos, sin  [rows, half] f32
struct RotaryCall {
  float* data = nullptr;
  int64_t rows = 0, row_stride = 0;
  int64_t heads = 0, head_dim = 0, half = 0;
  const float* cos = nullptr;
  const float* sin = nullptr;

  void run(const Context& context) const;
};

// factor * cos(t) and factor * sin(t) with t = position * inverse_frequency[c]. t, cosine, sine and
// product are each rounded to f32, as in the models' training. At position 10,000 this rounding
// changes t by up to 5e-4.
//   positions [rows], inverse_frequency [half]; cos, sin [rows, half]
void rotary_angles(std::span<const int32_t> positions, std::span<const float> inverse_frequency,
                   float factor, float* cos, float* sin, const Context& context);

}  // namespace reprise::kernels
