// Pools the hidden states of a text's tokens into one vector. [sentence-transformers' pooling
// modes]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/network/encoder.h"

namespace reprise::sentence {

// If several modes are used, their vectors are concatenated in this order.
enum class PoolingMode : uint8_t {
  kCls,             // the first token's state
  kMax,             // the largest value of each dimension
  kMean,            // the mean of all tokens, special tokens included
  kMeanSqrtLength,  // the sum divided by the root of the number of tokens
  kWeightedMean,    // the mean with weights 1, 2, 3, ...
  kLast             // the last token's state
};
// Returns "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean" or "lasttoken".
std::string_view name_of(PoolingMode mode);
// Accepts the names above and "last". Throws Error with the nearest name for any other; `where` is
// the place of the name in a file, for this error.
PoolingMode parse_pooling(std::string_view name, const std::string& where);

struct Pooling {
  std::vector<PoolingMode> modes = {PoolingMode::kMean};  // at least one, ascending, no duplicates
  bool normalizes = false;  // divide the result by its length (at least 1e-12)

  // Numbers in a text's vector.
  [[nodiscard]] int64_t width(int64_t hidden) const {
    return static_cast<int64_t>(modes.size()) * hidden;
  }
  // The states that pool() needs: those of all tokens, or of one if no mode reads any other.
  [[nodiscard]] model::HiddenOf needed() const;
  // For messages, e.g. "mean, normalized".
  [[nodiscard]] std::string text() const;
};

// out [width] = the vector of one text. `states` is [tokens, hidden] with tokens >= 1, or the state
// of the one token that needed() names. Sums are f32, token by token.
void pool(const Pooling& pooling, std::span<const float> states, int64_t hidden,
          std::span<float> out);

}  // namespace reprise::sentence
