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

// If several modes are used, their vectors are concatenated.
enum class PoolingMode : uint8_t {
  kCls,             // the first token's state
  kMax,             // the largest value of each dimension
  kMean,            // the mean of all tokens, special tokens included
  kMeanSqrtLength,  // the sum divided by the square root of the number of tokens
  kWeightedMean,    // the mean with weights 1, 2, 3, ... in the order of tokens
  kLast             // the last token's state
};
// Returns "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean" or "lasttoken".
std::string_view name_of(PoolingMode mode);
// Accepts the results of name_of() and "last". For any other name throws Error with the nearest
// one. `where` says in this error where in a file the name is.
PoolingMode parse_pooling(std::string_view name, const std::string& where);

struct Pooling {
  std::vector<PoolingMode> modes = {PoolingMode::kMean};  // at least one; a mode may be repeated
  bool normalizes = false;  // divide the result by its Euclidean norm (at least 1e-12)

  // Number of values in a text's vector.
  [[nodiscard]] int64_t width(int64_t hidden) const {
    return static_cast<int64_t>(modes.size()) * hidden;
  }
  // Returns which states pool() needs: only the first (last) token's state if the only mode is kCls
  // (kLast), else the states of all tokens.
  [[nodiscard]] model::HiddenOf needed() const;
  // Text for messages, e.g. "mean, normalized".
  [[nodiscard]] std::string text() const;
};

// Sets out [width] to the vector of one text. `states` is [tokens, hidden] with tokens >= 1, or the
// state of the one token that needed() returns. Sums are in f32, token by token.
void pool(const Pooling& pooling, std::span<const float> states, int64_t hidden,
          std::span<float> out);

}  // namespace reprise::sentence
