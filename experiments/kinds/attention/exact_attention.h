// Attention of every sequence's newest token, computed by its definition, and bounds on the error
// that rounding can cause. Operators' outputs are compared with it before anything is timed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/kernels/attention/rounding.h"
#include "experiments/kinds/attention/attention_problem.h"
#include "experiments/kinds/attention/token_values.h"

namespace reprise::experiments {

using kernels::ExactHead;
using kernels::Rounding;

class ExactAttention {
 public:
  // Computes attention of each sequence's newest token, token `keys` - 1, over its `keys` keys and
  // values, rounded as in the cache. The constructor uses no plan and no cache, so a comparison
  // detects plans that read the wrong keys.
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

// Distance of outputs o from the exact outputs o', over all heads and elements.
struct Deviation {
  double relative_error = 0;  // largest || o - o' || / || o' || of a head
  double max_difference = 0;  // largest | o - o' | of an element
  double largest_output = 0;
  // Largest ratio of an error to the error that rounding can cause, over heads and elements. Above
  // 1 the outputs are wrong; infinite if an output is not finite.
  double bound_share = 0;
  int64_t sequence = 0, head = 0;  // where bound_share is largest

  void include(const Deviation& other);
};
// `output` is [batch, heads * head_dim], f32. A head may be off by rounding_bound(). Before an
// element o'_c is rounded, it may be off by e = (rounding.sums * summed() + 6 * mean_error()) /
// sqrt(head_dim), where mean_error() is that of the queries' and weights' rounding: each such error
// is a sum of many roundings, and the largest of 10^6 is below 6 times their root mean square. The
// rounding of the element itself adds at most rounding.outputs * (| o'_c | + e).
[[nodiscard]] Deviation deviation_of(const ExactAttention& exact, std::span<const float> output,
                                     const Rounding& rounding);

}  // namespace reprise::experiments
