// Logistic regression on sentence vectors, to measure how well a linear model separates two
// classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::sentence {

// Vectors of one width, stored one after the other, and the class of each.
struct ProbeData {
  std::span<const float> vectors;   // [n, width]
  std::span<const uint8_t> labels;  // [n]  0 or 1, the class of each vector
  int64_t width = 0;
};

struct ProbeOptions {
  // Factor of |w|^2 / 2 in the loss. 0 means the value in kPenalties with the most correct answers
  // in cross-validation; of equally good values, the largest.
  double penalty = 0;
  int64_t folds = 5;  // number of folds of cross-validation: vector i is in fold i % folds
  int64_t most_steps = 200;
};
inline constexpr double kPenalties[] = {100, 10, 1, 0.1};

// p(positive | x) = 1 / (1 + exp(-(w x' + b))), x' = (x - mean) / scale. `mean` is the mean of the
// training vectors. `scale` is the root mean square of their distances from the mean, divided by
// sqrt(width). So the result does not change if all vectors are multiplied by a factor.
class LinearProbe {
 public:
  // Minimizes  sum_i log(1 + exp(-y_i (w x'_i + b))) + penalty / 2 |w|^2,  y_i = -1 or 1. Uses
  // L-BFGS from 0 until the gradient's norm is below 1e-6 of its first value, for at most
  // most_steps steps. Deterministic: the same data give the same probe. Throws Error if all labels
  // are equal.
  static LinearProbe fit(const ProbeData& training, const ProbeOptions& options = {});

  [[nodiscard]] bool is_positive(std::span<const float> vector) const;
  // Returns the number of vectors that the probe classifies correctly.
  [[nodiscard]] int64_t right(const ProbeData& test) const;
  [[nodiscard]] double penalty() const { return penalty_; }

 private:
  std::vector<double> weights_;  // [width]  for x itself instead of x', so they include the scale
  double bias_ = 0;              // for x itself, so it includes the mean
  double penalty_ = 0;
};

}  // namespace reprise::sentence
