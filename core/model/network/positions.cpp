#include "core/model/network/positions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <optional>

namespace reprise::model {
namespace {

// Llama 3.1's scaling: long wavelengths are multiplied by the factor, short ones are kept, and
// those between are interpolated.
float llama3_scaled(float frequency, const RotaryConfig& rotary) {
  const auto original = static_cast<double>(rotary.original_max_positions);
  const auto factor = static_cast<float>(rotary.factor);
  // 1 / frequency is computed first, because PyTorch divides a number by a tensor in this way.
  const float wavelength = 1.0f / frequency * static_cast<float>(2.0 * std::numbers::pi);
  if (wavelength > static_cast<float>(original / rotary.low_freq_factor)) return frequency / factor;
  if (wavelength < static_cast<float>(original / rotary.high_freq_factor)) return frequency;
  const float smooth = (1.0f / wavelength * static_cast<float>(original) -
                        static_cast<float>(rotary.low_freq_factor)) /
                       static_cast<float>(rotary.high_freq_factor - rotary.low_freq_factor);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

float pow_f32(double base, double exponent) { return static_cast<float>(std::pow(base, exponent)); }

float base_of(const RotaryConfig& rotary, int64_t length) {
  const auto theta = static_cast<float>(rotary.theta);
  if (rotary.scaling != RopeScaling::kDynamic || length <= rotary.original_max_positions)
    return theta;
  const auto factor = static_cast<float>(rotary.factor);
  const auto dims = static_cast<double>(rotary.dims);
  const float stretch =
      factor * static_cast<float>(length) / static_cast<float>(rotary.original_max_positions) -
      static_cast<float>(rotary.factor - 1.0);
  return theta * pow_f32(stretch, dims / (dims - 2.0));
}

// YaRN takes a weighted mean of a pair's unscaled and interpolated frequency. The weight of the
// unscaled frequency is 1 - clamp((pair - low) / (high - low), 0, 1). [YaRN §3.2]
class YarnRamp {
 public:
  explicit YarnRamp(const RotaryConfig& rotary)
      : low_(pair_of(rotary, rotary.beta_fast)), high_(pair_of(rotary, rotary.beta_slow)) {
    if (rotary.has_whole_ramp) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, static_cast<double>(rotary.dims - 1));
    if (low_ == high_) high_ += 0.001;
  }

  [[nodiscard]] float weight(int64_t pair) const {
    const float ramp =
        (static_cast<float>(pair) - static_cast<float>(low_)) / static_cast<float>(high_ - low_);
    return 1.0f - std::clamp(ramp, 0.0f, 1.0f);
  }

 private:
  // Returns which pair, counted from 0 and with a fraction, turns `turns` times in the original
  // length.
  static double pair_of(const RotaryConfig& rotary, double turns) {
    const auto original = static_cast<double>(rotary.original_max_positions);
    return static_cast<double>(rotary.dims) *
           std::log(original / (turns * 2.0 * std::numbers::pi)) / (2.0 * std::log(rotary.theta));
  }

  double low_, high_;
};

// Returns the frequency of pair c, where `power` is theta^(2 c / dims). `kept` is the weight of the
// unscaled frequency (YarnRamp).
float yarn_scaled(float power, const RotaryConfig& rotary, float kept) {
  const float interpolated = 1.0f / (static_cast<float>(rotary.factor) * power);
  return interpolated * (1.0f - kept) + 1.0f / power * kept;
}

}  // namespace

// Rounds to f32 wherever transformers does. An angle is position times frequency, so at position
// 4,000 the last bit of a frequency changes the angle by more than 1e-4.
std::vector<float> rotary_frequencies(const RotaryConfig& rotary, int64_t length) {
  const float base = base_of(rotary, length);
  const bool is_long = length > rotary.original_max_positions;
  std::optional<YarnRamp> ramp;
  if (rotary.scaling == RopeScaling::kYarn) ramp.emplace(rotary);
  const std::vector<double>& divisors = is_long ? rotary.long_divisors : rotary.short_divisors;
  std::vector<float> frequencies;
  for (int64_t c = 0; c < rotary.dims / 2; ++c) {
    const float exponent = static_cast<float>(2 * c) / static_cast<float>(rotary.dims);
    const float power = pow_f32(base, exponent);
    float frequency = 1.0f / power;
    if (rotary.scaling == RopeScaling::kLongRope)
      frequency = 1.0f / (static_cast<float>(divisors[static_cast<size_t>(c)]) * power);
    if (ramp) frequency = yarn_scaled(power, rotary, ramp->weight(c));
    if (rotary.scaling == RopeScaling::kLinear) frequency /= static_cast<float>(rotary.factor);
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

std::vector<int32_t> relative_buckets(const RelativeConfig& relative, int64_t longest) {
  const int64_t mid = relative.buckets / 2;
  const auto bucket_of = [&](int64_t distance) {
    const int64_t far = std::abs(distance);
    if (relative.buckets == 0 || far <= mid) return distance;
    const auto middle = static_cast<float>(mid);
    const float share = std::log(static_cast<float>(far) / middle) /
                        std::log(static_cast<float>(relative.max_distance - 1) / middle);
    const auto bucket =
        static_cast<int64_t>(std::ceil(share * static_cast<float>(mid - 1)) + middle);
    return distance < 0 ? -bucket : bucket;
  };
  std::vector<int32_t> buckets;
  for (int64_t distance = 1 - longest; distance < longest; ++distance)
    buckets.push_back(static_cast<int32_t>(
        std::clamp<int64_t>(relative.span + bucket_of(distance), 0, 2 * relative.span - 1)));
  return buckets;
}

}  // namespace reprise::model
