#include "core/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace reprise {
namespace {

TEST(Random, ValueDependsOnEveryPartOfItsKeyAndOnNothingElse) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (uint64_t a = 0; a < 10; ++a)
      for (uint64_t b = 0; b < 10; ++b) seen.insert(random_bits(seed, a, b));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(random_bits(1, 2, 3), random_bits(1, 2, 3));
  EXPECT_NE(random_bits(1, 2, 3), random_bits(1, 3, 2));
}

// The first value of SplitMix64 from seed 0, from its published reference code.
TEST(Random, MixIsTheFinaliserOfSplitMix64) { EXPECT_EQ(mix_bits(0), 0xe220a8397b1dcdafu); }

// 100,000 draws: the mean of uniform values has a standard deviation of 1 / sqrt(12 n) = 9.1e-4,
// and each of 20 bins has 5000 +- sqrt(4750). Five standard deviations are allowed for both.
TEST(Random, UnitValuesAreUniform) {
  constexpr int kDraws = 100000;
  double sum = 0.0;
  std::array<int, 20> bins{};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double u = random_unit(7, 1, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    ++bins[static_cast<size_t>(u * 20)];
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 / std::sqrt(12.0 * kDraws));
  for (int count : bins) EXPECT_NEAR(count, kDraws / 20, 5 * std::sqrt(4750.0));
}

}  // namespace
}  // namespace reprise
