// Tests the sign flip test against all choices of signs, a published example, and other tests of
// the same data.
#include "results/sign_flip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "results/proportion.h"

namespace reprise::results {
namespace {

using Differences = std::vector<double>;

double enumerated_p(const Differences& d) {
  double seen = 0;
  for (const double x : d) seen += x;
  int as_far = 0;
  for (uint32_t signs = 0; signs < (1u << d.size()); ++signs) {
    double sum = 0;
    for (size_t i = 0; i < d.size(); ++i) sum += (signs >> i & 1u) != 0 ? d[i] : -d[i];
    as_far += std::abs(sum) >= std::abs(seen) - 1e-9 ? 1 : 0;
  }
  return as_far / std::exp2(static_cast<double>(d.size()));
}

TEST(SignFlip, AgreesWithCountingEveryChoiceOfSigns) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Differences d;
    for (uint64_t i = 0; i < 9; ++i)  // few values, zero among them, so that many sums tie
      d.push_back((std::floor(8 * random_unit(seed, 0, i)) - 3) / 10);
    EXPECT_NEAR(sign_flip_p(d), enumerated_p(d), 1e-12) << "seed " << seed;
  }
}

// Data of Darwin's 15 pairs of crossed and self-fertilised maize, in eighths of an inch. Fisher
// (The Design of Experiments, 1935, §21) found 863 of 32,768 choices of signs with a sum of 314 or
// more, and twice as many in both directions: 1,726 / 32,768 = 5.267 %.
TEST(SignFlip, AgreesWithFishersCountOfDarwinsMaize) {
  const Differences d = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  EXPECT_NEAR(sign_flip_p(d), 1726.0 / 32768.0, 1e-12);
}

TEST(SignFlip, RightAndWrongAreMcNemars) {
  Differences d(40, 0.0);  // questions with equal answers
  for (int i = 0; i < 12; ++i) d.push_back(1);
  for (int i = 0; i < 5; ++i) d.push_back(-1);
  EXPECT_NEAR(sign_flip_p(d), mcnemar_p(12, 5), 1e-12);
}

TEST(SignFlip, DrawnChoicesAgreeWithTheExactTail) {
  Differences d;
  for (int i = 0; i < 40; ++i) d.push_back(i < 27 ? 0.5 : -0.5);  // too many to enumerate
  const double exact = mcnemar_p(27, 13);
  EXPECT_NEAR(sign_flip_p(d), exact, 5 * std::sqrt(exact / 100000));
  EXPECT_EQ(sign_flip_p(d, {.seed = 4}), sign_flip_p(d, {.seed = 4}));
  EXPECT_NE(sign_flip_p(d, {.seed = 4}), sign_flip_p(d, {.seed = 5}));
}

TEST(SignFlip, DrawnChoicesAreNeverImpossible) {
  const Differences d(100, 1.0);
  EXPECT_EQ(sign_flip_p(d, {.draws = 999}), 1.0 / 1000);
}

TEST(SignFlip, NoDifferenceIsNoEvidence) {
  EXPECT_EQ(sign_flip_p(Differences{}), 1.0);
  EXPECT_EQ(sign_flip_p(Differences{0, 0}), 1.0);
  EXPECT_EQ(sign_flip_p(Differences{0, 0.3}), 1.0);
  EXPECT_EQ(sign_flip_p(Differences{0.25, -0.25, 0.5, -0.5}), 1.0);
}

// If two methods score alike, p is uniform, so a twentieth of the sets gives p below 0.05.
TEST(SignFlip, KeepsItsLevel) {
  int rejected = 0;
  for (uint64_t set = 0; set < 400; ++set) {
    Differences d;
    for (uint64_t i = 0; i < 12; ++i)
      d.push_back(std::pow(random_unit(3, set, i), 3) - std::pow(random_unit(4, set, i), 3));
    rejected += sign_flip_p(d) <= 0.05 ? 1 : 0;
  }
  EXPECT_GT(rejected, 5);
  EXPECT_LT(rejected, 38);
}

}  // namespace
}  // namespace reprise::results
