#include "experiments/kinds/attention/exact_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

struct Products {
  double sum = 0, squares = 0;  // sums of a_c b_c and of (a_c b_c)^2
};

// Adds in sixteen independent sums, which compilers vectorize. f32 is enough: its error is far
// below the errors of operators that are judged.
Products products(std::span<const float> a, std::span<const float> b) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> sum{}, squares{};
  size_t c = 0;
  for (; c + kLanes <= a.size(); c += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float product = a[c + lane] * b[c + lane];
      sum[lane] += product;
      squares[lane] += product * product;
    }
  for (size_t lane = 0; c < a.size(); ++c, ++lane) {
    const float product = a[c] * b[c];
    sum[lane] += product;
    squares[lane] += product * product;
  }
  Products total;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += static_cast<double>(sum[lane]);
    total.squares += static_cast<double>(squares[lane]);
  }
  return total;
}

double squared(double x) { return x * x; }

}  // namespace

ExactAttention::ExactAttention(const AttentionProblem& problem, const TokenValues& values,
                               int64_t keys, const Context& context)
    : problem_(problem),
      outputs_(static_cast<size_t>(problem.batch * problem.q_dim())),
      heads_(static_cast<size_t>(problem.batch * problem.heads)) {
  parallel_for(context, problem.batch * problem.heads, [&](int64_t item, int) {
    compute(values, keys, item / problem.heads, item % problem.heads);
  });
}

std::span<const double> ExactAttention::output(int64_t sequence, int64_t head) const {
  return std::span(outputs_).subspan(
      static_cast<size_t>(sequence * problem_.q_dim() + head * problem_.head_dim),
      static_cast<size_t>(problem_.head_dim));
}

void ExactAttention::compute(const TokenValues& values, int64_t keys, int64_t sequence,
                             int64_t head) {
  const auto dim = static_cast<size_t>(problem_.head_dim);
  const auto kv_at = static_cast<size_t>(head / (problem_.heads / problem_.kv_heads)) * dim;
  const auto q = values.query(sequence, keys - 1).subspan(static_cast<size_t>(head) * dim, dim);
  const auto scale = static_cast<double>(score_scale(problem_));
  // weights: scores, later exp(score - highest). moved: variance of each score if q_c has variance
  // q_c^2.
  std::vector<double> weights, moved;
  for (int64_t token = 0; token < keys; ++token) {
    const Products qk = products(q, values.cached_key(sequence, token).subspan(kv_at, dim));
    weights.push_back(scale * qk.sum);
    moved.push_back(squared(scale) * qk.squares);
  }
  const double highest = *std::max_element(weights.begin(), weights.end());
  double n = 0;
  for (double& weight : weights) n += weight = std::exp(weight - highest);

  double* o = outputs_.data() + sequence * problem_.q_dim() + head * problem_.head_dim;
  kernels::ExactHeadSums sums;
  for (size_t j = 0; j < weights.size(); ++j) {
    const auto v = values.cached_value(sequence, static_cast<int64_t>(j)).subspan(kv_at, dim);
    const double p = weights[j] / n;
    for (size_t c = 0; c < dim; ++c) o[c] += p * static_cast<double>(v[c]);
    sums.add(p, products(v, v).sum, moved[j]);
  }
  double norm_squared = 0;
  for (size_t c = 0; c < dim; ++c) norm_squared += squared(o[c]);
  heads_[static_cast<size_t>(sequence * problem_.heads + head)] =
      sums.head(std::sqrt(norm_squared));
}

void Deviation::include(const Deviation& other) {
  relative_error = std::max(relative_error, other.relative_error);
  max_difference = std::max(max_difference, other.max_difference);
  largest_output = std::max(largest_output, other.largest_output);
  if (other.bound_share <= bound_share) return;
  bound_share = other.bound_share;
  sequence = other.sequence;
  head = other.head;
}

Deviation deviation_of(const ExactAttention& exact, std::span<const float> output,
                       const Rounding& rounding) {
  const AttentionProblem& problem = exact.problem();
  REPRISE_CHECK(output.size() == static_cast<size_t>(problem.batch * problem.q_dim()));
  const double root_dim = std::sqrt(static_cast<double>(problem.head_dim));
  Rounding before_output = rounding;
  before_output.outputs = 0;
  Deviation all;
  const float* o = output.data();
  for (int64_t sequence = 0; sequence < problem.batch; ++sequence)
    for (int64_t head = 0; head < problem.heads; ++head) {
      const ExactHead& expected = exact.head(sequence, head);
      const double before =
          (rounding.sums * expected.summed() + 6 * mean_error(expected, before_output)) / root_dim;
      Deviation one{.sequence = sequence, .head = head};
      double squares = 0, element_share = 0;
      bool is_finite = true;
      for (const double want : exact.output(sequence, head)) {
        const double got = *o++;
        is_finite = is_finite && std::isfinite(got);
        const double difference = std::abs(got - want);
        const double allowed = before + rounding.outputs * (std::abs(want) + before);
        element_share = std::max(element_share, difference / std::max(allowed, 1e-300));
        one.max_difference = std::max(one.max_difference, difference);
        one.largest_output = std::max(one.largest_output, std::abs(got));
        squares += squared(got - want);
      }
      const double error = std::sqrt(squares);
      one.relative_error = error / expected.norm;
      one.bound_share =
          std::max(error / rounding_bound(expected, rounding, problem.head_dim), element_share);
      if (!is_finite) one.bound_share = std::numeric_limits<double>::infinity();
      all.include(one);
    }
  return all;
}

}  // namespace reprise::experiments
