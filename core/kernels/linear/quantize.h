// Turns the values of a group into codes, by the rules of core/base/weight_format.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/weight_format.h"

namespace reprise::kernels {

// The values q of NF4's codes, ascending: quantiles of a normal distribution at even steps of
// probability, including 0, divided by the largest quantile. [QLoRA, appendix E]
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

// The unscaled values of a four-bit format's codes: kNf4Quantiles for NF4, or 0 to 15 for int4.
[[nodiscard]] const std::array<float, 16>& code_values(WeightFormat format);

// Returns the number of inputs that share a scale in a matrix of `cols` inputs, which is `cols` if
// the format has one group for each output.
[[nodiscard]] int64_t group_inputs(WeightFormat format, int64_t cols);

// Throws NotFiniteError naming row and column if a value of the row is NaN or infinite.
void require_finite(std::span<const float> values, int64_t row, WeightFormat format);

struct GroupScale {
  float scale = 0.0f;
  float minimum = 0.0f;  // a of int4; 0 in other formats
};

// Writes the codes of one group of finite values, for int8 as the bits of an int8_t. The scale is 0
// for a group of zeros, and in int4 for any group of equal values; such groups are restored
// exactly.
GroupScale quantize_group(WeightFormat format, std::span<const float> values, uint8_t* codes);

// In nf4-double, the scales of kScaleBlockGroups groups of each of kScaleBlockOutputs outputs share
// a step.
inline constexpr int64_t kScaleBlockGroups = 4, kScaleBlockOutputs = 64;

// Writes to `codes` the codes d of a block of scales s = mean + t d, and returns the block's step
// t.
float quantize_scales(std::span<const float> scales, float mean, int8_t* codes);

}  // namespace reprise::kernels
