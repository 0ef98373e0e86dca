// Keys or values of one head in eight bits, with a scale of its own for each channel: the channels
// of keys differ in magnitude by far more than the tokens of one channel do.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kv {

//   scale_c = max_t |x_tc| / 127      q_tc = x_tc / scale_c rounded to the nearest, ties to even
//
//   states     [tokens, head_dim]  dtype
//   quantized  [tokens, head_dim]  -127..127
//   scales     [head_dim]          f32; 0 for a channel of zeros
//
// The error |x - q * scale| is at most scale / 2, beside the rounding of f32. A scale is no smaller
// than the smallest normal f32, so that channels below 1.5e-36 lie on a grid of 1.2e-38. False
// where a state is NaN or infinite, which eight bits cannot hold; the output is then of no use.
// Ranges do not overlap. Allocates nothing.
[[nodiscard]] bool quantize_head(const void* states, DType dtype, int64_t tokens, int64_t head_dim,
                                 int8_t* quantized, float* scales);

// x_tc = q_tc * scale_c, in f32 and then rounded to `dtype`. Shapes as above.
void dequantize_head(const int8_t* quantized, const float* scales, int64_t tokens, int64_t head_dim,
                     DType dtype, void* states);

}  // namespace reprise::kv
