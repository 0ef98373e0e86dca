// Eight-bit keys or values of one head. Each channel has its own scale, because the channels of
// keys differ in magnitude far more than the tokens of one channel do.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kv {

// Quantizes the states x of one head. For token t and channel c:
//   scale_c = max_t |x_tc| / 127      q_tc = x_tc / scale_c rounded to the nearest, ties to even
//
//   states     [tokens, head_dim]  dtype
//   quantized  [tokens, head_dim]  -127..127
//   scales     [head_dim]          f32; 0 for a channel of zeros
//
// The error |x - q * scale| is at most scale / 2, plus f32 rounding. A scale other than 0 is at
// least the smallest normal f32, 1.2e-38, which matters for channels below 1.5e-36. Returns false
// if a state is NaN or infinite; the output is then meaningless. Ranges must not overlap. Allocates
// nothing.
[[nodiscard]] bool quantize_head(const void* states, DType dtype, int64_t tokens, int64_t head_dim,
                                 int8_t* quantized, float* scales);

// Sets x_tc = q_tc * scale_c, computed in f32 and rounded to `dtype`. Names and shapes as for
// quantize_head().
void dequantize_head(const int8_t* quantized, const float* scales, int64_t tokens, int64_t head_dim,
                     DType dtype, void* states);

}  // namespace reprise::kv
