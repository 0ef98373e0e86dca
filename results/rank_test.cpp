#include "results/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/error.h"

namespace reprise::results {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_samples(std::span<const double> samples) {
  REPRISE_CHECK(!samples.empty());
  for (const double sample : samples) REPRISE_CHECK(std::isfinite(sample), "sample {}", sample);
}

// Returns the probability of each sum of a random subset of `weights`; each weight is in it with
// probability one half.
std::vector<double> subset_sum_distribution(std::span<const int64_t> weights) {
  int64_t total = 0;
  for (const int64_t weight : weights) total += weight;
  std::vector<double> share(static_cast<size_t>(total) + 1, 0.0);
  share[0] = 1.0;
  int64_t reached = 0;
  for (const int64_t weight : weights) {
    reached += weight;
    for (int64_t sum = reached; sum >= 0; --sum) {
      const double without = share[static_cast<size_t>(sum)];
      const double with = sum >= weight ? share[static_cast<size_t>(sum - weight)] : 0.0;
      share[static_cast<size_t>(sum)] = 0.5 * (without + with);
    }
  }
  return share;
}

// Returns the probability of each value u of U, the number of pairs (i, j) with y_j > x_i, if x and
// y have the same distribution. The number of orders with U = u is f(m, n, u) = f(m - 1, n, u) +
// f(m, n - 1, u - m): the largest value is either an x or a y. Here these numbers are
// probabilities.
std::vector<double> rank_sum_distribution(size_t m, size_t n) {
  // rows[j] is the distribution for (i, j), while i grows from 0 to m.
  std::vector<std::vector<double>> rows(n + 1, std::vector<double>(m * n + 1, 0.0));
  for (auto& row : rows) row[0] = 1.0;
  for (size_t i = 1; i <= m; ++i)
    for (size_t j = 1; j <= n; ++j) {
      // The largest value is one of the j y's with probability j / (i + j); it is then above all i
      // x's.
      const double is_y = static_cast<double>(j) / static_cast<double>(i + j);
      std::vector<double> next(m * n + 1, 0.0);
      for (size_t u = 0; u <= i * j; ++u)
        next[u] = (1.0 - is_y) * rows[j][u] + (u >= i ? is_y * rows[j - 1][u - i] : 0.0);
      rows[j] = std::move(next);
    }
  return rows[n];
}

// Returns the largest c with P(value < c) <= alpha / 2. The c-th smallest and the c-th largest
// value bound the interval.
int64_t critical_count(const std::vector<double>& distribution, double alpha) {
  double below = 0.0;
  int64_t count = 0;
  for (const double share : distribution) {
    below += share;
    if (below > alpha / 2) break;
    ++count;
  }
  return count;
}

double two_sided(const std::vector<double>& distribution, double value) {
  const auto last = static_cast<double>(distribution.size() - 1);
  const auto end = static_cast<size_t>(std::min(value, last - value));
  double tail = 0.0;
  for (size_t i = 0; i <= end; ++i) tail += distribution[i];
  return std::min(1.0, 2.0 * tail);
}

// Returns the median and, as bounds, the `count`-th smallest and the `count`-th largest value,
// which are infinite if `count` is 0. Sorts `values`.
Shift shift_of(std::vector<double>& values, int64_t count) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  Shift shift{.estimate = 0.5 * (values[(n - 1) / 2] + values[n / 2]),
              .low = -kInfinity,
              .high = kInfinity};
  if (count > 0) {
    shift.low = values[static_cast<size_t>(count) - 1];
    shift.high = values[n - static_cast<size_t>(count)];
  }
  return shift;
}

}  // namespace

Shift paired_shift(std::span<const double> differences, double alpha) {
  check_samples(differences);
  std::vector<double> averages;
  for (size_t i = 0; i < differences.size(); ++i)
    for (size_t j = i; j < differences.size(); ++j)
      averages.push_back(0.5 * (differences[i] + differences[j]));
  std::vector<int64_t> ranks;
  for (size_t i = 1; i <= differences.size(); ++i) ranks.push_back(static_cast<int64_t>(i));
  return shift_of(averages, critical_count(subset_sum_distribution(ranks), alpha));
}

double signed_rank_p(std::span<const double> differences) {
  check_samples(differences);
  std::vector<double> sorted;
  for (const double d : differences)
    if (d != 0) sorted.push_back(d);
  if (sorted.empty()) return 1.0;
  std::sort(sorted.begin(), sorted.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  std::vector<int64_t> ranks;  // doubled, so that a tie's mean rank is an integer
  int64_t positive = 0;
  for (size_t first = 0, end = 0; first < sorted.size(); first = end) {
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[first])) ++end;
    const auto rank = static_cast<int64_t>(first + end + 1);
    for (size_t i = first; i < end; ++i) {
      ranks.push_back(rank);
      positive += sorted[i] > 0 ? rank : 0;
    }
  }
  return two_sided(subset_sum_distribution(ranks), static_cast<double>(positive));
}

Shift unpaired_shift(std::span<const double> x, std::span<const double> y, double alpha) {
  check_samples(x);
  check_samples(y);
  std::vector<double> differences;
  for (const double x_i : x)
    for (const double y_j : y) differences.push_back(y_j - x_i);
  return shift_of(differences, critical_count(rank_sum_distribution(x.size(), y.size()), alpha));
}

double rank_sum_p(std::span<const double> x, std::span<const double> y) {
  check_samples(x);
  check_samples(y);
  double above = 0.0;
  for (const double x_i : x)
    for (const double y_j : y) above += y_j > x_i ? 1.0 : y_j == x_i ? 0.5 : 0.0;
  const auto pairs = static_cast<double>(x.size() * y.size());
  return two_sided(rank_sum_distribution(x.size(), y.size()),
                   std::ceil(std::min(above, pairs - above)));
}

}  // namespace reprise::results
