// The largest difference of two lists of numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace reprise::testing {

// The largest |got_i - want_i|, in double. Lists of different lengths and values that are NaN fail
// the test.
template <typename Got, typename Want>
double max_difference(const Got& got, const Want& want) {
  const std::span a(got);
  const std::span b(want);
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    EXPECT_FALSE(std::isnan(x) || std::isnan(y)) << "at " << i;
    worst = std::max(worst, std::abs(x - y));
  }
  return worst;
}

}  // namespace reprise::testing
