#include "core/store/int8_channels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace reprise::kv {
namespace {

constexpr float kMostQuantum = 127;

// Returns a scale for which 127 * scale and every element / scale are finite.
float scale_of(float most) {
  if (most == 0) return 0;
  const float scale = std::max(most / kMostQuantum, std::numeric_limits<float>::min());
  return std::isfinite(scale * kMostQuantum) ? scale : std::nextafter(scale, 0.0f);
}

// Rounds |x| < 2^22 to the nearest integer, ties to even: the sum has no bits left for a fraction.
// Unlike std::nearbyint this needs only baseline instructions, so the loop is vectorized.
float rounded(float x) {
  constexpr float kNoFraction = 0x1.8p23f;
  return (x + kNoFraction) - kNoFraction;
}

// Rounds a finite number to the nearest number of type T. The conversion of struct bf16 tests for
// NaN, which would keep the loop from being vectorized.
template <typename T>
void narrow(float x, T& out) {
  if constexpr (std::is_same_v<T, bf16>) {
    const auto word = std::bit_cast<uint32_t>(x);
    out.bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  } else {
    out = static_cast<T>(x);
  }
}

template <typename T>
bool quantize(const T* __restrict states, int64_t tokens, int64_t head_dim,
              int8_t* __restrict quantized, float* __restrict scales) {
  std::fill_n(scales, head_dim, 0.0f);
  // As integers, the bits of magnitudes have the same order as the magnitudes, with infinity and
  // NaN above all others.
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t c = 0; c < head_dim; ++c) {
      const auto state = static_cast<float>(states[t * head_dim + c]);
      const int32_t magnitude = std::bit_cast<int32_t>(state) & 0x7fffffff;
      scales[c] = std::bit_cast<float>(std::max(std::bit_cast<int32_t>(scales[c]), magnitude));
    }
  if (!std::all_of(scales, scales + head_dim, [](float most) { return std::isfinite(most); }))
    return false;
  for (int64_t c = 0; c < head_dim; ++c) scales[c] = scale_of(scales[c]);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t c = 0; c < head_dim; ++c) {
      const float scale = scales[c] == 0 ? 1 : scales[c];  // a scale of 0 means a channel of zeros
      const float quantum = rounded(static_cast<float>(states[t * head_dim + c]) / scale);
      quantized[t * head_dim + c] = static_cast<int8_t>(static_cast<int32_t>(quantum));
    }
  return true;
}

template <typename T>
void dequantize(const int8_t* __restrict quantized, const float* __restrict scales, int64_t tokens,
                int64_t head_dim, T* __restrict states) {
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t c = 0; c < head_dim; ++c)
      narrow(static_cast<float>(quantized[t * head_dim + c]) * scales[c], states[t * head_dim + c]);
}

}  // namespace

bool quantize_head(const void* states, DType dtype, int64_t tokens, int64_t head_dim,
                   int8_t* quantized, float* scales) {
  return visit_dtype(dtype, [&](auto format) {
    return quantize(static_cast<const decltype(format)*>(states), tokens, head_dim, quantized,
                    scales);
  });
}

void dequantize_head(const int8_t* quantized, const float* scales, int64_t tokens, int64_t head_dim,
                     DType dtype, void* states) {
  visit_dtype(dtype, [&](auto format) {
    dequantize(quantized, scales, tokens, head_dim, static_cast<decltype(format)*>(states));
  });
}

}  // namespace reprise::kv
