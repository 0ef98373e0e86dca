// The error budget of a check: how many rounds it may take, how sure it must be at each look, and
// which shifts matter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "results/rank_test.h"

namespace reprise::checks {

enum class Verdict : uint8_t { kSame, kFaster, kSlower, kUndecided };
std::string_view name_of(Verdict verdict);

// All values below are natural logarithms of candidate / baseline of the time for the same work:
// above 0 is slower.

// A look at the samples after `rounds` rounds, and the level of its interval.
struct Look {
  int rounds = 0;
  double alpha = 0;
};

// Returns the looks of a benchmark with up to `most_rounds` rounds (raised to least_rounds(alpha)),
// which together err with probability at most `alpha`. After n of N rounds, alpha * (n / N)^2 is
// spent [Kim and DeMets 1987]. The first look is at the first n >= 8 for which a signed-rank
// interval exists (2^(1 - n) <= level). From look to look, n grows by a fifth. Each look spends the
// error that was added since the look before.
std::vector<Look> looks(int most_rounds, double alpha);
// Fewest rounds with which the last look, which spends at least half of `alpha`, has a finite
// signed-rank interval. At least 12, because quartiles of fewer samples mean little.
int least_rounds(double alpha);

// Current noise of a benchmark on this machine, estimated from A/A pairs.
struct Noise {
  // Robust standard deviation of the log ratio d of one A/A pair: 1.4826 times the median of |d|.
  double spread = 0;
  // Expected half width of the shift's interval at the last look.
  double resolvable = 0;
};
// `differences` are log ratios of a program against itself, so their true centre is 0. At least one
// (CHECK).
Noise noise_of(std::span<const double> differences, const Look& last);

// The bounds with which judge() compares a shift.
struct Margins {
  // Smallest shift that matters. "Slower" and "faster" need the whole interval beyond it.
  double matters = 0;
  // Largest shift that A/A pairs could show by chance. "Slower" and "faster" also need the estimate
  // beyond it.
  double noise = 0;
  double same = 0;  // "same" needs the whole interval within +- this
};
// `margin` is the user's, and becomes `matters`. `same` is 1.5 * noise.resolvable, but at least
// `margin` and at most twice `margin`. On a noisy machine it is wider than `margin`, because equal
// programs would otherwise hardly ever be called "same"; the table marks such verdicts with a star.
Margins margins_of(double margin, const Noise& noise);

Verdict judge(const results::Shift& shift, const Margins& margins);

}  // namespace reprise::checks
