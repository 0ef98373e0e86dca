#include "core/kernels/linear/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels {
namespace {

constexpr std::array<float, 16> kIntegers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct Range {
  float low, high;

  [[nodiscard]] float largest_magnitude() const { return std::max(-low, high); }
};

// Returns the smallest and the largest of `values` (at least one). Compares in 16 independent
// lanes.
Range range_of(std::span<const float> values) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> low, high;
  low.fill(values[0]);
  high.fill(values[0]);
  const auto take = [&](size_t lane, float value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  };
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  for (; i < values.size(); ++i) take(0, values[i]);
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

// Rounds to the nearest integer, ties to even, for |value| < 2^22: the sum below has no bits left
// for a fraction.
float rounded(float value) {
  constexpr float kNoFraction = 0x1.8p23f;
  return (value + kNoFraction) - kNoFraction;
}

// Returns the integer in [low, high] that is nearest to value / scale. If `scale` is so small that
// the quotient overflows, returns `low` or `high`.
float code_of(float value, float scale, float low, float high) {
  return rounded(std::clamp(value / scale, low, high));
}

GroupScale quantize_int8(std::span<const float> values, uint8_t* codes) {
  const float scale = range_of(values).largest_magnitude() / 127.0f;
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = scale > 0.0f ? code_of(values[i], scale, -127.0f, 127.0f) : 0.0f;
    codes[i] = static_cast<uint8_t>(static_cast<int8_t>(code));
  }
  return {.scale = scale};
}

GroupScale quantize_int4(std::span<const float> values, uint8_t* codes) {
  const auto [minimum, maximum] = range_of(values);
  const double range = static_cast<double>(maximum) - static_cast<double>(minimum);
  const auto scale = static_cast<float>(range / 15.0);
  // If the range of a group exceeds f32's largest number, computes with halved values; halving is
  // exact.
  const float unit = range > static_cast<double>(std::numeric_limits<float>::max()) ? 0.5f : 1.0f;
  const float low = minimum * unit, step = scale * unit;
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = scale > 0.0f ? code_of(values[i] * unit - low, step, 0.0f, 15.0f) : 0.0f;
    codes[i] = static_cast<uint8_t>(code);
  }
  return {.scale = scale, .minimum = minimum};
}

GroupScale quantize_nf4(std::span<const float> values, uint8_t* codes) {
  const float scale = range_of(values).largest_magnitude();
  const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
  const bool is_tiny = std::isinf(inverse);  // subnormal scale: divide instead
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = is_tiny ? values[i] / scale : values[i] * inverse;
    uint8_t code = 0;
    for (size_t q = 0; q + 1 < kNf4Quantiles.size(); ++q)
      code += value > (kNf4Quantiles[q] + kNf4Quantiles[q + 1]) / 2 ? 1 : 0;
    codes[i] = code;
  }
  return {.scale = scale};
}

}  // namespace

const std::array<float, 16>& code_values(WeightFormat format) {
  return format == WeightFormat::kInt4 ? kIntegers : kNf4Quantiles;
}

int64_t group_inputs(WeightFormat format, int64_t cols) {
  if (format == WeightFormat::kInt8) return cols;
  if (format != WeightFormat::kInt4) return 64;
  for (const int64_t inputs : {128, 96, 64, 32})
    if (cols > 128 && cols % inputs == 0) return inputs;
  return cols;
}

void require_finite(std::span<const float> values, int64_t row, WeightFormat format) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw NotFiniteError(fmt::format("row {}, column {} is {}, for which {} has no code", row, i,
                                       values[i], name_of(format)));
}

GroupScale quantize_group(WeightFormat format, std::span<const float> values, uint8_t* codes) {
  if (format == WeightFormat::kInt8) return quantize_int8(values, codes);
  if (format == WeightFormat::kInt4) return quantize_int4(values, codes);
  return quantize_nf4(values, codes);
}

float quantize_scales(std::span<const float> scales, float mean, int8_t* codes) {
  float largest = 0.0f;
  for (const float scale : scales) largest = std::max(largest, std::abs(scale - mean));
  const float step = largest / 127.0f;
  for (size_t i = 0; i < scales.size(); ++i)
    codes[i] =
        static_cast<int8_t>(step > 0.0f ? code_of(scales[i] - mean, step, -127.0f, 127.0f) : 0.0f);
  return step;
}

}  // namespace reprise::kernels
