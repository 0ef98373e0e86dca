// Turns the values of a group into codes, by the rules of core/base/weight_format.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/weight_format.h"

namespace reprise::kernels {

// q of NF4, ascending: quantiles of a normal distribution at even steps of probability, including
// 0, divided by the largest.  [QLoRA, appendix E]
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

// The unscaled values of the codes of a four-bit format: q, or 0 to 15.
[[nodiscard]] const std::array<float, 16>& code_values(WeightFormat format);

// Number of inputs that share a scale in a matrix of `cols` inputs; `cols` if an output has one
// group.
[[nodiscard]] int64_t group_inputs(WeightFormat format, int64_t cols);

// Throws NotFiniteError naming row and column if a value of the row is NaN or infinite.
void require_finite(std::span<const float> values, int64_t row, WeightFormat format);

struct GroupScale {
  float scale = 0.0f;
  float minimum = 0.0f;  // a of int4; 0 in other formats
};

// Writes the codes of one group of finite values; in int8, the bits of an int8_t. A group of equal
// values has scale 0 in int4, a group of zeros in all formats; both are restored exactly.
GroupScale quantize_group(WeightFormat format, std::span<const float> values, uint8_t* codes);

// Writes the codes d of a block of scales, s = mean + t d, and returns t.
float quantize_scales(std::span<const float> scales, float mean, int8_t* codes);

}  // namespace reprise::kernels
