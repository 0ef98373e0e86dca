// Tests gathering rows against its definition.
#include <gtest/gtest.h>

#include "core/kernels/embedding/reference/embedding.h"
#include "core/kernels/rows/gather_rows.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::random_values;

TEST(GatherRows, ElsewhereAndInPlaceMatchTheReference) {
  for (int64_t cols : {1, 5, 3000, 5000}) {
    const std::vector<float> values = random_values(20 * cols, 4);
    for (const std::vector<int32_t>& rows :
         {std::vector<int32_t>{}, {0}, {19}, {0, 1, 2}, {0, 3, 4, 18}, {5, 6, 7, 8, 9, 19}}) {
      const std::vector<float> want = reference::embedding(values, cols, rows);
      std::vector<float> out(want.size()), in_place = values;
      GatherRowsCall call{
          .in = values.data(), .out = out.data(), .row_bytes = cols * 4, .rows = rows};
      call.run({.threads = 2});
      EXPECT_EQ(out, want);
      call.in = call.out = in_place.data();
      call.run({.threads = 2});
      in_place.resize(want.size());
      EXPECT_EQ(in_place, want);
    }
    const std::vector<int32_t> any = {7, 7, 0, 19};
    std::vector<float> out(4 * static_cast<size_t>(cols));
    GatherRowsCall{.in = values.data(), .out = out.data(), .row_bytes = cols * 4, .rows = any}.run(
        {.threads = 2});
    EXPECT_EQ(out, reference::embedding(values, cols, any));
  }
}

}  // namespace
}  // namespace reprise::kernels
