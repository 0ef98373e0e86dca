// Compares embedding with its definition.
#include <gtest/gtest.h>

#include "core/kernels/embedding/embedding.h"
#include "core/kernels/embedding/reference/embedding.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

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

}  // namespace
}  // namespace reprise::kernels
