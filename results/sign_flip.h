// Whether two sets of scores for the same questions differ in their means.
#pragma once

#include <cstdint>
#include <span>

namespace reprise::results {

struct SignFlipOptions {
  int64_t draws = 100000;  // of signs, where there are too many to take all
  uint64_t seed = 1;       // of the stream (seed, draw, difference)
};

// Two-sided p-value of the hypothesis that each question's two scores might as well be exchanged:
// the share of all choices of signs for the differences whose sum is as far from 0 as the sum seen,
// or farther. Exact up to 20 differences other than 0; beyond, from `draws` drawn choices, the one
// seen counted among them, so that it is never below 1 / (draws + 1). [Fisher 1935, §21]
// 1 where no difference is other than 0. All finite (CHECK), draws > 0 (CHECK).
[[nodiscard]] double sign_flip_p(std::span<const double> differences,
                                 const SignFlipOptions& options = {});

}  // namespace reprise::results
