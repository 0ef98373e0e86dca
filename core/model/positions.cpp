#include "core/model/positions.h"

#include <cmath>
#include <numbers>

namespace reprise::model {
namespace {

// Llama 3.1: long wavelengths are stretched by the factor, short ones kept, those between
// interpolated.
double llama3_scaled(double frequency, const RotaryConfig& rotary) {
  const auto original = static_cast<double>(rotary.original_max_positions);
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength > original / rotary.low_freq_factor) return frequency / rotary.factor;
  if (wavelength < original / rotary.high_freq_factor) return frequency;
  const double smooth = (original / wavelength - rotary.low_freq_factor) /
                        (rotary.high_freq_factor - rotary.low_freq_factor);
  return (1.0 - smooth) * frequency / rotary.factor + smooth * frequency;
}

}  // namespace

std::vector<double> rotary_frequencies(const RotaryConfig& rotary, int64_t length) {
  const auto dims = static_cast<double>(rotary.dims);
  double theta = rotary.theta;
  if (rotary.scaling == RopeScaling::kDynamic && length > rotary.original_max_positions) {
    const double stretch = rotary.factor * static_cast<double>(length) /
                               static_cast<double>(rotary.original_max_positions) -
                           (rotary.factor - 1.0);
    theta *= std::pow(stretch, dims / (dims - 2.0));
  }
  std::vector<double> frequencies;
  for (int64_t c = 0; c < rotary.dims / 2; ++c) {
    double frequency = std::pow(theta, -2.0 * static_cast<double>(c) / dims);
    if (rotary.scaling == RopeScaling::kLinear) frequency /= rotary.factor;
    if (rotary.scaling == RopeScaling::kLlama3) frequency = llama3_scaled(frequency, rotary);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

std::vector<float> alibi_slopes(int64_t heads, double bias_max) {
  int64_t n = 1;
  while (n < heads) n *= 2;
  const auto slope = [&](int64_t k) {
    return static_cast<float>(
        std::exp2(-bias_max * static_cast<double>(k) / static_cast<double>(n)));
  };
  std::vector<float> slopes;
  if (n == heads) {
    for (int64_t k = 1; k <= n; ++k) slopes.push_back(slope(k));
    return slopes;
  }
  for (int64_t k = 2; k <= n; k += 2) slopes.push_back(slope(k));
  for (int64_t k = 1; k <= n; k += 2) slopes.push_back(slope(k));
  slopes.resize(static_cast<size_t>(heads));
  return slopes;
}

}  // namespace reprise::model
