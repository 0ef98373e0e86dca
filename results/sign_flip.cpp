#include "results/sign_flip.h"

#include <bit>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::results {
namespace {

constexpr size_t kMostEnumerated = 20;

// True if `sum` is at least as far from 0 as `seen`, with a tolerance for rounding: equal sums that
// were added in different orders count as equally far.
bool is_as_far(double sum, double seen, double scale) {
  return std::abs(sum) >= std::abs(seen) - 1e-9 * scale;
}

// Visits the sign choices in the order of a Gray code, which changes one sign at a time. The first
// sign stays fixed, since the sums of a choice and of its opposite are equally far from 0.
double exact_p(const std::vector<double>& d, double seen, double scale) {
  std::vector<double> signed_d = d;
  double sum = seen;
  const uint64_t choices = uint64_t{1} << (d.size() - 1);
  uint64_t as_far = 0;
  for (uint64_t choice = 0; choice < choices; ++choice) {
    if (choice > 0) {
      double& flipped = signed_d[static_cast<size_t>(std::countr_zero(choice)) + 1];
      sum -= 2 * flipped;
      flipped = -flipped;
    }
    as_far += is_as_far(sum, seen, scale) ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(choices);
}

double drawn_p(const std::vector<double>& d, double seen, double scale,
               const SignFlipOptions& options) {
  int64_t as_far = 1;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    double sum = 0;
    uint64_t signs = 0;
    for (size_t i = 0; i < d.size(); ++i) {
      if (i % 64 == 0) signs = random_bits(options.seed, static_cast<uint64_t>(draw), i / 64);
      sum += (signs >> (i % 64) & 1u) != 0 ? d[i] : -d[i];
    }
    as_far += is_as_far(sum, seen, scale) ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(options.draws + 1);
}

}  // namespace

double sign_flip_p(std::span<const double> differences, const SignFlipOptions& options) {
  REPRISE_CHECK(options.draws > 0, "draws {}", options.draws);
  std::vector<double> d;
  double seen = 0, scale = 0;
  for (const double difference : differences) {
    REPRISE_CHECK(std::isfinite(difference), "difference {}", difference);
    if (difference == 0) continue;
    d.push_back(difference);
    seen += difference;
    scale += std::abs(difference);
  }
  if (d.empty()) return 1.0;
  return d.size() <= kMostEnumerated ? exact_p(d, seen, scale) : drawn_p(d, seen, scale, options);
}

}  // namespace reprise::results
