// From the values of a group to their codes: the rules of core/base/weight_format.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/weight_format.h"

namespace reprise::kernels::cpu {

// q of NF4, ascending: the quantiles of a normal distribution at even steps of probability, 0 among
// them, divided by the largest.  [QLoRA, appendix E]
inline constexpr std::array<float, 16> kNf4Quantiles = {-1.0f,
                                                        -0.6961928009986877f,
                                                        -0.5250730514526367f,
                                                        -0.39491748809814453f,
                                                        -0.28444138169288635f,
                                                        -0.18477343022823334f,
                                                        -0.09105003625154495f,
                                                        0.0f,
                                                        0.07958029955625534f,
                                                        0.16093020141124725f,
                                                        0.24611230194568634f,
                                                        0.33791524171829224f,
                                                        0.44070982933044434f,
                                                        0.5626170039176941f,
                                                        0.7229568362236023f,
                                                        1.0f};

// What the codes of a four-bit format stand for before they are scaled: q, or 0 to 15.
[[nodiscard]] const std::array<float, 16>& code_values(WeightFormat format);

// Inputs that share a scale in a matrix of `cols` inputs; cols where all of an output do.
[[nodiscard]] int64_t group_inputs(WeightFormat format, int64_t cols);

struct GroupScale {
  float scale = 0.0f;
  float minimum = 0.0f;  // a of int4, else 0
};

// Codes of the values of one group, all of them finite; of int8, the bits of an int8_t. A group of
// equal values has the scale 0 in int4, one of zeros in all formats; both come back exactly.
GroupScale quantize_group(WeightFormat format, std::span<const float> values, uint8_t* codes);

// Codes d of a block of scales, s = mean + t d, and returns t.
float quantize_scales(std::span<const float> scales, float mean, int8_t* codes);

}  // namespace reprise::kernels::cpu
