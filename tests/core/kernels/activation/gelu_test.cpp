// Compares the exact GELU with its definition in double precision. It is the least accurate
// function of the models that use it.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/kernels/activation/activation.h"

namespace reprise::kernels {
namespace {

std::vector<float> gelu(const std::vector<float>& x) {
  std::vector<float> out(x.size());
  ActivationCall{.kind = ActivationKind::kGelu,
                 .x = x.data(),
                 .out = out.data(),
                 .rows = 1,
                 .cols = static_cast<int64_t>(x.size())}
      .run(Context::machine());
  return out;
}

TEST(Gelu, IsExactToHalfAUnitInTheLastPlaceOfItsArgumentOrTwo) {
  std::vector<float> x;
  for (int i = -12'000; i <= 12'000; ++i) x.push_back(static_cast<float>(i) / 1000.0f);
  const std::vector<float> got = gelu(x);
  double worst = 0.0, worst_near_ratio = 0.0, squares = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i], want = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    const double error = std::abs(static_cast<double>(got[i]) - want);
    worst = std::max(worst, error);
    squares += error * error;
    if (std::abs(v) < 3.0 && v != 0.0)
      worst_near_ratio = std::max(worst_near_ratio, error / std::abs(want));
  }
  EXPECT_LE(worst, 5e-7);  // 2^-21 at x = 12
  EXPECT_LE(std::sqrt(squares / static_cast<double>(x.size())), 1e-7);
  EXPECT_LE(worst_near_ratio, 2e-6);  // the left tail does not cancel
}

TEST(Gelu, FarOutIsTheArgumentOrNothing) {
  EXPECT_EQ(gelu({0.0f, 40.0f, 1e30f, -40.0f, -1e30f}),
            (std::vector<float>{0.0f, 40.0f, 1e30f, 0.0f, 0.0f}));
}

}  // namespace
}  // namespace reprise::kernels
