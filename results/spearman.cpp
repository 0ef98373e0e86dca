// Resamples are ranked without sorting: the order of each list is known, and the number of times
// that each pair was drawn gives its ranks.
#include "results/spearman.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::results {
namespace {

// A list in ascending order: the position of each value, and where runs of equal values end.
class Order {
 public:
  explicit Order(std::span<const double> values) : places_(values.size()) {
    std::iota(places_.begin(), places_.end(), size_t{0});
    std::sort(places_.begin(), places_.end(),
              [&](size_t a, size_t b) { return values[a] < values[b]; });
    for (size_t first = 0; first < values.size(); first = ends_.back()) {
      size_t end = first + 1;
      while (end < values.size() && values[places_[end]] == values[places_[first]]) ++end;
      ends_.push_back(end);
    }
  }

  // Ranks the sample that contains value i counts[i] times. The ranks of absent values are
  // undefined.
  void rank(std::span<const int32_t> counts, std::vector<double>& ranks) const {
    ranks.resize(places_.size());
    int64_t before = 0;
    size_t first = 0;
    for (const size_t end : ends_) {
      int64_t here = 0;
      for (size_t i = first; i < end; ++i) here += counts[places_[i]];
      const double mean = static_cast<double>(before) + static_cast<double>(here + 1) / 2;
      for (size_t i = first; i < end; ++i) ranks[places_[i]] = mean;
      before += here;
      first = end;
    }
  }
  [[nodiscard]] bool has_one_value() const { return ends_.size() <= 1; }

 private:
  std::vector<size_t> places_;
  std::vector<size_t> ends_;  // where runs of equal values end, as indices in places_
};

class RankCorrelation {
 public:
  RankCorrelation(std::span<const double> x, std::span<const double> y) : x_(x), y_(y) {}

  // Correlation of the sample that contains pair i counts[i] times.
  double of(std::span<const int32_t> counts) {
    x_.rank(counts, x_ranks_);
    y_.rank(counts, y_ranks_);
    const int64_t n = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const double mean = static_cast<double>(n + 1) / 2;
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const double a = x_ranks_[i] - mean, b = y_ranks_[i] - mean;
      xx += counts[i] * a * a;
      yy += counts[i] * b * b;
      xy += counts[i] * a * b;
    }
    return xx > 0 && yy > 0 ? std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0) : 0.0;
  }
  [[nodiscard]] bool is_constant() const { return x_.has_one_value() || y_.has_one_value(); }

 private:
  Order x_, y_;
  std::vector<double> x_ranks_, y_ranks_;
};

void check(std::span<const double> x, std::span<const double> y) {
  REPRISE_CHECK(x.size() == y.size() && x.size() >= 2, "{} and {} values", x.size(), y.size());
  for (const std::span<const double> values : {x, y})
    for (const double value : values) REPRISE_CHECK(std::isfinite(value), "value {}", value);
}

}  // namespace

std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<double> ranks;
  Order(values).rank(std::vector<int32_t>(values.size(), 1), ranks);
  return ranks;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  check(x, y);
  return RankCorrelation(x, y).of(std::vector<int32_t>(x.size(), 1));
}

Interval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                            const BootstrapOptions& options) {
  check(x, y);
  REPRISE_CHECK(options.resamples > 0, "resamples {}", options.resamples);
  RankCorrelation correlation(x, y);
  const size_t n = x.size();
  std::vector<int32_t> counts(n, 1);
  const double estimate = correlation.of(counts);
  if (correlation.is_constant()) return {estimate, estimate};
  std::vector<double> left_out, resampled;
  for (size_t i = 0; i < n; ++i) {
    counts[i] = 0;
    left_out.push_back(correlation.of(counts));
    counts[i] = 1;
  }
  for (int64_t r = 0; r < options.resamples; ++r) {
    std::fill(counts.begin(), counts.end(), 0);
    for (size_t i = 0; i < n; ++i)
      ++counts[random_bits(options.seed, static_cast<uint64_t>(r), i) % n];
    resampled.push_back(correlation.of(counts));
  }
  std::sort(resampled.begin(), resampled.end());
  return bca_interval(resampled, estimate, bca_acceleration(left_out), options.confidence);
}

}  // namespace reprise::results
