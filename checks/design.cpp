#include "checks/design.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "results/distributions.h"
#include "results/statistics.h"

namespace reprise::checks {
namespace {

// Two-sided error level of the widest signed-rank interval, from the smallest to the largest of
// `rounds` differences.
double finest_level(int rounds) { return std::exp2(1 - rounds); }

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "?";
}

int least_rounds(double alpha) {
  // The last look spends at least half of alpha, so a finite interval must exist at level alpha /
  // 2.
  int rounds = 12;
  while (finest_level(rounds) > alpha / 2) ++rounds;
  return rounds;
}

std::vector<Look> looks(int most_rounds, double alpha) {
  REPRISE_CHECK(alpha > 0 && alpha < 1, "alpha {}", alpha);
  const int most = std::max(most_rounds, least_rounds(alpha));
  const auto spent_after = [&](int rounds) {
    const double share = static_cast<double>(rounds) / most;
    return alpha * share * share;
  };
  std::vector<Look> looks;
  double spent = 0;
  for (int rounds = 8; rounds < most; rounds += std::max(1, rounds / 5)) {
    const double level = spent_after(rounds) - spent;
    // Skips looks after which less than half of alpha would be left for the last look, which
    // decides small shifts.
    if (finest_level(rounds) > level || spent_after(rounds) > alpha / 2) continue;
    looks.push_back({rounds, level});
    spent += level;
  }
  looks.push_back({most, alpha - spent});
  return looks;
}

Noise noise_of(std::span<const double> differences, const Look& last) {
  std::vector<double> sizes;
  for (const double difference : differences) sizes.push_back(std::abs(difference));
  const double spread = 1.4826 * results::summarize(sizes).median;
  // The half width of a mean's interval is z spread / sqrt(n). The efficiency of the signed-rank
  // test relative to the mean is 0.955 for normal noise and higher for heavier tails.
  const double z = -results::normal_quantile(last.alpha / 2);
  return {.spread = spread, .resolvable = z * spread / std::sqrt(0.955 * last.rounds)};
}

Margins margins_of(double margin, const Noise& noise) {
  return {.matters = margin,
          .noise = noise.resolvable,
          .same = std::clamp(1.5 * noise.resolvable, margin, 2 * margin)};
}

Verdict judge(const results::Shift& shift, const Margins& margins) {
  const bool is_beyond_noise = std::abs(shift.estimate) > margins.noise;
  if (is_beyond_noise && shift.low > margins.matters) return Verdict::kSlower;
  if (is_beyond_noise && shift.high < -margins.matters) return Verdict::kFaster;
  if (shift.low > -margins.same && shift.high < margins.same) return Verdict::kSame;
  return Verdict::kUndecided;
}

}  // namespace reprise::checks
