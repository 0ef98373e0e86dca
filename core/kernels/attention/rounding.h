// Bounds on how far rounding may move the attention of one head, for checks of attention kernels.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace reprise::kernels {

// Largest relative errors of an attention operator's roundings, each to nearest. A field is 0 if
// the operator does not round there.
struct Rounding {
  double queries = 0;  // rounding of q before the product with the keys
  double weights = 0;  // rounding of the softmax weights before the product with the values
  double outputs = 0;
  double sums = 0;  // bound on all other errors together, relative to ExactHead::summed()
};

// The values that bound a head's rounding errors. With weights p_j of the keys, o = sum_j p_j v_j.
//   weights   p_j (1 + e_j), |e_j| <= u, moves o by sum_j p_j e_j (v_j - o), because the weights
//             are divided by their sum: at most p_j |e_j| (|| v_j || + || o ||) for each j
//   queries   q_c (1 + e_c) moves score j by scale * sum_c q_c e_c k_jc, and p_j by the same
//             amount relative to p_j
// Errors of rounding to nearest are uniform in [-u, u], with variance u^2 / 3, and independent for
// different keys. So || o - o' ||^2, with o' the rounded output, has the mean
//   u_w^2 / 3 * weight_spread + u_q^2 / 3 * query_spread + u_o^2 / 3 * norm^2
struct ExactHead {
  double norm = 0;           // || o ||
  double weight_spread = 0;  // sum_j p_j^2 (|| v_j || + || o ||)^2
  double query_spread = 0;   // sum_j p_j^2 (|| v_j || + || o ||)^2 scale^2 sum_c (q_c k_jc)^2
  double weight_keys = 0;    // 1 / sum_j p_j^2: the number of keys if all weigh the same

  // The size of what is summed to o. In a head of one or two dimensions, o itself may be close to 0
  // by chance, but the error of its sum is not.
  [[nodiscard]] double summed() const { return std::hypot(norm, std::sqrt(weight_spread)); }
};

// Computes an ExactHead as sums over the keys that a head sees.
class ExactHeadSums {
 public:
  // weight: p_j.   v_squared: || v_j ||^2.   moved: scale^2 sum_c (q_c k_jc)^2.
  void add(double weight, double v_squared, double moved) {
    const std::array<double, 3> powers = {1.0, std::sqrt(v_squared), v_squared};
    for (size_t i = 0; i < powers.size(); ++i) {
      by_weight_[i] += weight * weight * powers[i];
      by_query_[i] += weight * weight * powers[i] * moved;
    }
  }
  // Call after at least one add(). norm: || o ||.
  [[nodiscard]] ExactHead head(double norm) const {
    const auto spread = [norm](const std::array<double, 3>& sums) {
      return sums[2] + 2 * norm * sums[1] + norm * norm * sums[0];
    };
    return {.norm = norm,
            .weight_spread = spread(by_weight_),
            .query_spread = spread(by_query_),
            .weight_keys = 1 / by_weight_[0]};
  }

 private:
  // by_weight_[i] = sum_j p_j^2 || v_j ||^i; by_query_[i] has the additional factor `moved`.
  std::array<double, 3> by_weight_{}, by_query_{};
};

// Square root of the mean of || o - o' ||^2 that the rounding of queries, weights and outputs
// causes. Rounding::sums is not included.
[[nodiscard]] double mean_error(const ExactHead& head, const Rounding& rounding);

// Upper bound on || o - o' || of a head from rounding alone. The square of this distance is a sum
// of about n = min(weight_keys, head_dim) independent squares, so the distance stays below (1 + 5 /
// sqrt(n)) times mean_error() in all but one of 10^6 heads. (Measured in bf16 on AVX512-BF16: in
// 10^5 heads of 1 to 4096 keys, the distance was at most 0.66 of the bound.)
//
// A kernel that leaves out key j moves o by p_j / (1 - p_j) || v_j - o ||. A check detects this in
// every head in which the distance exceeds the bound. In bf16 with 1000 keys, it does so in four of
// five heads, so a check of eight or more heads detects it.
[[nodiscard]] double rounding_bound(const ExactHead& head, const Rounding& rounding,
                                    int64_t head_dim);

}  // namespace reprise::kernels
