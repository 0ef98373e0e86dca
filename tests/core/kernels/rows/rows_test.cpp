// Embedding, clipping and picking rows against their definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/kernels/clip/clip.h"
#include "core/kernels/embedding/embedding.h"
#include "core/kernels/rows/gather_rows.h"
#include "core/kernels/rows/reference/rows.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;
using reprise::testing::tensor_of;

std::vector<int32_t> some_rows(int32_t count, int32_t entries) {
  std::vector<int32_t> rows;
  for (int32_t i = 0; i < count; ++i) rows.push_back((i * i * 7 + 3) % entries);
  return rows;
}

TEST(Embedding, TablesOfAnyDtypeMatchTheReferenceAndAddUp) {
  for (DType dtype : {DType::kF32, DType::kBF16})
    for (int64_t cols : {1, 17, 700})
      for (int32_t rows : {0, 1, 300}) {
        const std::vector<float> values = random_values(50 * cols, 1, dtype);
        const Tensor flat = tensor_of(values, dtype);
        const TensorView table{const_cast<void*>(flat.data()), dtype, {50, cols}};
        const std::vector<int32_t> ids = some_rows(rows, 50);
        const std::vector<float> want = reference::embedding(values, cols, ids);
        std::vector<float> got(want.size() + 1, 7.0f);
        EmbeddingCall call{.table = table, .ids = ids, .out = got.data()};
        call.run({.threads = 2});
        EXPECT_EQ(got.back(), 7.0f);
        got.pop_back();
        EXPECT_EQ(got, want) << name_of(dtype) << " " << rows << " x " << cols;
        call.accumulate = true;
        call.run({.threads = 2});
        for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i] + want[i]);
      }
}

TEST(Embedding, RowsOfAHeadAreThoseOfItsMatrix) {
  const std::vector<float> values = random_values(70 * 33, 2, DType::kBF16);
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kBF16}) {
    const auto fill = [&](int64_t first, int64_t end, void* out) {
      convert(values.data() + first * 33, DType::kF32, out, source_dtype(format),
              static_cast<size_t>((end - first) * 33));
    };
    const Weight head(70, 33, format, fill, {.threads = 2, .isa = best_isa()});
    const std::vector<int32_t> ids = some_rows(40, 70);
    std::vector<float> got(40 * 33);
    EmbeddingCall{.weight = &head, .ids = ids, .out = got.data()}.run({.threads = 2});
    EXPECT_EQ(got, reference::embedding(values, 33, ids));
  }
}

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
