// Logistic regression on sentence vectors: how well a linear model separates two classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::sentence {

// Vectors of one width, stored one after the other, and their classes.
struct ProbeData {
  std::span<const float> vectors;   // [labels, width]
  std::span<const uint8_t> labels;  // 0 or 1
  int64_t width = 0;
};

struct ProbeOptions {
  // Factor of |w|^2 / 2 in the loss. 0: the one of kPenalties that is right most often in
  // cross-validation; among equals, the largest.
  double penalty = 0;
  int64_t folds = 5;  // cross-validation: item i is in fold i % folds
  int64_t most_steps = 200;
};
inline constexpr double kPenalties[] = {100, 10, 1, 0.1};

// p(positive | x) = 1 / (1 + exp(-(w x' + b))), x' = (x - mean) / scale. `mean` is the mean of the
// training vectors; `scale` is their root mean square distance from it, over sqrt(width). The
// result thus does not depend on the vectors' length.
class LinearProbe {
 public:
  // Minimizes  sum_i log(1 + exp(-y_i (w x'_i + b))) + penalty / 2 |w|^2,  y_i = -1 or 1, by L-BFGS
  // from 0 until the gradient is below 1e-6 of the first one. Deterministic: the same data give the
  // same probe. Throws Error if all labels are equal.
  static LinearProbe fit(const ProbeData& training, const ProbeOptions& options = {});

  [[nodiscard]] bool is_positive(std::span<const float> vector) const;
  // Number of vectors that are classified correctly.
  [[nodiscard]] int64_t right(const ProbeData& test) const;
  [[nodiscard]] double penalty() const { return penalty_; }

 private:
  std::vector<double> weights_;  // [width]  for x itself; includes the scale
  double bias_ = 0;              // includes the mean
  double penalty_ = 0;
};

}  // namespace reprise::sentence
