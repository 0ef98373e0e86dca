#include "core/base/constant.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

template <int... kNumbers>
int constant_of(int n) {
  int got = -1;
  with_constant<kNumbers...>(n, [&](auto constant) {
    static_assert(decltype(constant)::value >= 0);
    got = decltype(constant)::value;
  });
  return got;
}

TEST(WithConstant, IsTheNumberAndTheLastOneForAnyOther) {
  for (int n : {1, 2, 3}) EXPECT_EQ((constant_of<1, 2, 3>(n)), n);
  for (int n : {-1, 0, 4}) EXPECT_EQ((constant_of<1, 2, 3>(n)), 3);
  EXPECT_EQ((constant_of<128, 256, 0>(256)), 256);
  EXPECT_EQ((constant_of<128, 256, 0>(64)), 0);
  EXPECT_EQ((constant_of<7>(1)), 7);
}

}  // namespace
}  // namespace reprise
