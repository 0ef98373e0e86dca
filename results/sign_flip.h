// Tests whether two sets of scores for the same questions differ in their means.
#pragma once

#include <cstdint>
#include <span>

namespace reprise::results {

struct SignFlipOptions {
  int64_t draws = 100000;  // random choices of signs, if there are too many to try all
  uint64_t seed = 1;       // seed of the stream (seed, draw, difference)
};

// Two-sided p-value of a permutation test of the hypothesis that each question's two scores could
// be exchanged. It is the share of sign choices for which the sum of the differences is at least as
// far from 0 as the observed sum. [Fisher 1935, §21] Exact up to 20 nonzero differences. With more,
// estimated from `draws` random choices and the observed one, so at least 1 / (draws + 1). Returns
// 1 if all differences are 0. Needs finite values and draws > 0 (CHECK).
[[nodiscard]] double sign_flip_p(std::span<const double> differences,
                                 const SignFlipOptions& options = {});

}  // namespace reprise::results
