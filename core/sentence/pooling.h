// From the hidden states of a text's tokens to one vector. [sentence-transformers' pooling modes]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/network/encoder.h"

namespace reprise::sentence {

// In the order in which several are put side by side.
enum class PoolingMode : uint8_t {
  kCls,             // the first token's state
  kMax,             // of each dimension, the largest
  kMean,            // the mean of all tokens, those put around the text included
  kMeanSqrtLength,  // their sum, divided by the root of their number
  kWeightedMean,    // the mean with weights 1, 2, 3, ...
  kLast             // the last token's state
};
// "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken".
std::string_view name_of(PoolingMode mode);
// Of names as above, or "last"; throws Error with the nearest for another. `where` names its place.
PoolingMode parse_pooling(std::string_view name, const std::string& where);

struct Pooling {
  std::vector<PoolingMode> modes = {PoolingMode::kMean};  // at least one, ascending, none twice
  bool normalizes = false;  // the result is divided by its length (by 1e-12 at least)

  // Numbers of a text's vector.
  [[nodiscard]] int64_t width(int64_t hidden) const {
    return static_cast<int64_t>(modes.size()) * hidden;
  }
  // Whose states pool() takes: all, or one token's where no mode looks at others.
  [[nodiscard]] model::HiddenOf needed() const;
  // "mean, normalized"
  [[nodiscard]] std::string text() const;
};

// out [width] = the vector of the text whose states are `states` [tokens, hidden], tokens >= 1, or
// of the one token that needed() names. Sums are f32, token by token.
void pool(const Pooling& pooling, std::span<const float> states, int64_t hidden,
          std::span<float> out);

}  // namespace reprise::sentence
