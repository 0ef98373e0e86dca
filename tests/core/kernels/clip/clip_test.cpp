// Compares clipping with its definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/clip/clip.h"
#include "core/kernels/clip/reference/clip.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;

TEST(Clip, EveryInstructionSetMatchesTheReference) {
  for (int64_t cols : {1, 7, 15, 16, 17, 33, 3000}) {
    std::vector<float> values = random_values(9 * cols, 3);
    values[0] = std::numeric_limits<float>::infinity();
    values.back() = -std::numeric_limits<float>::infinity();
    for (Isa isa : available_isas()) {
      std::vector<float> got = values;
      ClipCall{.data = got.data(), .rows = 9, .cols = cols, .limit = 0.75f}.run(
          {.threads = 2, .isa = isa});
      EXPECT_EQ(got, reference::clip(values, 0.75f)) << name_of(isa) << " " << cols;
    }
  }
}

TEST(Clip, NanStays) {
  for (Isa isa : available_isas()) {
    std::vector<float> values(33, std::nanf(""));
    ClipCall{.data = values.data(), .rows = 1, .cols = 33, .limit = 1.0f}.run(
        {.threads = 1, .isa = isa});
    for (float value : values) EXPECT_TRUE(std::isnan(value)) << name_of(isa);
  }
}

}  // namespace
}  // namespace reprise::kernels
