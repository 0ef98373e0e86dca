// How many rounds a check may take, how sure it must be at each look, and what a shift means: the
// error budget of one check.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "results/rank_test.h"

namespace reprise::checks {

enum class Verdict : uint8_t { kSame, kFaster, kSlower, kUndecided };
std::string_view name_of(Verdict verdict);

// Everything below is in natural logarithms of the ratio candidate / baseline of the time for the
// same work: above 0 is slower.

// A look at the samples after `rounds`, with the level of its interval.
struct Look {
  int rounds = 0;
  double alpha = 0;
};

// The looks of one benchmark that may take up to `most_rounds`, where all its looks together may
// err with probability `alpha`. After n of N rounds, alpha * (n / N)^2 is spent [Kim and DeMets
// 1987], each look taking what was added since the last one: by the union bound the intervals of
// all looks hold at once with probability 1 - alpha, however they depend on each other. Looks start
// at the first n whose share a signed-rank interval can meet (2^(1 - n) <= level) and grow by a
// fifth. `most_rounds` is raised to least_rounds(alpha).
std::vector<Look> looks(int most_rounds, double alpha);
// Rounds below which no interval at level `alpha` is finite; never below 12, where quartiles of
// samples begin to mean something.
int least_rounds(double alpha);

// What A/A pairs say about a benchmark on this machine, now.
struct Noise {
  double spread = 0;      // standard deviation of one log ratio, robust: 1.4826 median |d|
  double resolvable = 0;  // half the width to expect of the interval at the last look
};
// `differences` are log ratios of the same program against itself, so their centre is known to be
// 0. At least one (CHECK).
Noise noise_of(std::span<const double> differences, const Look& last);

// From where on a shift matters, and within what it does not.
struct Margins {
  double matters = 0;  // slower or faster: the whole interval must lie beyond this ...
  double noise = 0;    // ... and the estimate beyond what A/A pairs could show
  double same = 0;     // the whole interval within this, on either side
};
// `margin` is what the user asked for. "Same" needs 1.5 times the interval's half width, or hardly
// any pair of equal programs would be called so: where the machine is too noisy for `margin`, that
// is the margin of "same", and the table says so. It is never more than twice `margin`.
Margins margins_of(double margin, const Noise& noise);

Verdict judge(const results::Shift& shift, const Margins& margins);

}  // namespace reprise::checks
