// Logistic regression on sentence vectors: what a plain linear model can tell from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::sentence {

// Vectors of one width, one after the other, and which are of the positive class.
struct ProbeData {
  std::span<const float> vectors;   // [labels, width]
  std::span<const uint8_t> labels;  // 0 or 1
  int64_t width = 0;
};

struct ProbeOptions {
  // What the squares of weights are multiplied with, in halves; 0: the one of kPenalties that is
  // right most often in cross-validation, of equals the largest.
  double penalty = 0;
  int64_t folds = 5;  // of cross-validation: item i is in fold i % folds
  int64_t most_steps = 200;
};
inline constexpr double kPenalties[] = {100, 10, 1, 0.1};

// p(positive | x) = 1 / (1 + exp(-(w x' + b))), x' = (x - mean) / scale: mean is the training
// vectors', scale one number, their root mean square distance from it over sqrt(width), so that
// the result does not depend on the vectors' length.
class LinearProbe {
 public:
  // The w and b at the minimum of  sum_i log(1 + exp(-y_i (w x'_i + b))) + penalty / 2 |w|^2,
  // y_i = -1 or 1, by L-BFGS from 0 until the gradient is below 1e-6 of the first one. Draws
  // nothing: the same data give the same probe. Throws Error where all labels are one.
  static LinearProbe fit(const ProbeData& training, const ProbeOptions& options = {});

  [[nodiscard]] bool is_positive(std::span<const float> vector) const;
  [[nodiscard]] int64_t right(const ProbeData& test) const;  // of the test's vectors
  [[nodiscard]] double penalty() const { return penalty_; }

 private:
  std::vector<double> weights_;  // [width]  of x, the scale in them
  double bias_ = 0;              // the mean in it
  double penalty_ = 0;
};

}  // namespace reprise::sentence
