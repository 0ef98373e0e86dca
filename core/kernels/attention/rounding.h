// How far rounding may move the attention of one head: what checks of attention kernels allow.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace reprise::kernels {

// Largest relative errors with which an operator rounds, each to nearest; 0: it does not.
struct Rounding {
  double queries = 0;  // before they are multiplied
  double weights = 0;  // of the softmax, before they are multiplied with values
  double outputs = 0;
  double sums = 0;  // of || o ||: whatever else, at most
};

// The values that bound a head's rounding errors. With weights p_j of the keys, o = sum_j p_j v_j.
//   weights   p_j (1 + e_j), |e_j| <= u, moves o by sum_j p_j e_j v_j, less o for what the errors
//             do to their sum: at most p_j |e_j| (|| v_j || + || o ||) for each j
//   queries   q_c (1 + e_c) moves score j by scale * sum_c q_c e_c k_jc, and p_j by as much
//             relatively
// Errors to nearest are spread evenly, with variance u^2 / 3, and those of different keys are
// independent. So || o - o' ||^2 has the mean
//   u_w^2 / 3 * weight_spread + u_q^2 / 3 * query_spread + u_o^2 / 3 * norm^2
struct ExactHead {
  double norm = 0;           // || o ||
  double weight_spread = 0;  // sum_j p_j^2 (|| v_j || + || o ||)^2
  double query_spread = 0;   // sum_j p_j^2 (|| v_j || + || o ||)^2 scale^2 sum_c (q_c k_jc)^2
  double weight_keys = 0;    // 1 / sum_j p_j^2: as many keys would weigh the same
};

// Sums up an ExactHead over the keys that a head sees.
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
  // After at least one key. norm: || o ||.
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
  // Sums of p_j^2 || v_j ||^i, i = 0, 1, 2; alone, and times what queries move.
  std::array<double, 3> by_weight_{}, by_query_{};
};

// Root of the mean of || o - o' ||^2 by the roundings that are spread evenly; `sums` is not among
// them.
[[nodiscard]] double mean_error(const ExactHead& head, const Rounding& rounding);

// The largest || o - o' || of a head that rounding explains. Its square is a sum of about
// min(weight_keys, head_dim) independent squares, whose root stays below (1 + 5 / sqrt(that)) times
// its mean in all but one of 10^6 heads. (bf16 on AVX512-BF16: at most 0.66 of the bound in 10^5
// heads of 1 to 4096 keys.)
//
// A key j that is left out moves o by p_j / (1 - p_j) || v_j - o ||, and is found where that is
// above the bound in one head at least. In bf16 and with 1000 keys that is so in four of five
// heads; a single head hides the rest, and of eight or more heads one shows it.
[[nodiscard]] double rounding_bound(const ExactHead& head, const Rounding& rounding,
                                    int64_t head_dim);

}  // namespace reprise::kernels
