// Attention of every sequence's newest token by its definition, and how far rounding may move it:
// the judge of all outputs before anything is timed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "experiments/kinds/attention/attention_problem.h"
#include "experiments/kinds/attention/token_values.h"

namespace reprise::experiments {

// Largest relative errors with which an operator rounds, each to nearest; 0: it does not.
struct Rounding {
  double queries = 0;  // before they are multiplied
  double weights = 0;  // of the softmax, before they are multiplied with values
  double outputs = 0;
  double sums = 0;  // of || o ||: whatever else, at most
};

// What a head's rounding errors are made of. With weights p_j of the keys, o = sum_j p_j v_j.
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

class ExactAttention {
 public:
  // Of the newest of `keys` tokens of each sequence, over keys and values as the cache rounds them.
  // It knows no plan and no cache, so a plan that reads the wrong keys is found out.
  ExactAttention(const AttentionProblem& problem, const TokenValues& values, int64_t keys,
                 const Context& context);

  [[nodiscard]] std::span<const double> output(int64_t sequence, int64_t head) const;  // [head_dim]
  [[nodiscard]] const ExactHead& head(int64_t sequence, int64_t head) const {
    return heads_[static_cast<size_t>(sequence * problem_.heads + head)];
  }
  [[nodiscard]] const AttentionProblem& problem() const { return problem_; }

 private:
  void compute(const TokenValues& values, int64_t keys, int64_t sequence, int64_t head);

  AttentionProblem problem_;
  std::vector<double> outputs_;   // [batch, heads * head_dim]
  std::vector<ExactHead> heads_;  // [batch, heads]
};

// How far outputs are from the exact ones, every head and element of them.
struct Deviation {
  double relative_error = 0;  // largest || o - o' || / || o' || of a head
  double max_difference = 0;  // largest | o - o' | of an element
  double largest_output = 0;
  // Largest share of what rounding explains, of a head or of an element; above 1 the outputs are
  // wrong, and infinite where one of them is no finite number.
  double bound_share = 0;
  int64_t sequence = 0, head = 0;  // where that is

  void include(const Deviation& other);
};
// `output` is [batch, heads * head_dim]. An element may be off by (1 + 5) / sqrt(head_dim) of its
// head's mean: the most of 10^6 where each is a sum of many roundings.
[[nodiscard]] Deviation deviation_of(const ExactAttention& exact, std::span<const float> output,
                                     const Rounding& rounding);

}  // namespace reprise::experiments
