// With a batch-invariant context, a row of a linear layer has the same bits whatever number of rows
// is computed beside it.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/core/kernels/linear/linear_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::Coded;
using reprise::testing::random_values;
using reprise::testing::tensor_of;
using testing::Weights;

// Numbers of rows on both sides of each number at which another kernel is chosen.
constexpr int64_t kRowCounts[] = {1, 2, 4, 5, 6, 8, 9, 12, 13, 16, 17, 33, 64, 65, 128, 129, 300};
constexpr int64_t kAllRows = 300;

// The product of the last m of kAllRows rows.
std::vector<float> product_of_last(const Weight& w, const std::vector<float>& all, int64_t m,
                                   DType out_dtype, const Context& context) {
  const std::vector<float> rows(all.end() - m * w.cols(), all.end());
  const Tensor x = tensor_of(rows, w.input_dtype());
  Tensor out(out_dtype, {m * w.rows()});
  LinearWorkspace workspace;
  LinearCall{.x = x.data(), .m = m, .out = out.data(), .out_dtype = out_dtype}.run(w, workspace,
                                                                                   context);
  return reprise::testing::values_of(out);
}

// The numbers in kRowCounts with which the last row has other bits than if it is computed alone.
std::vector<int64_t> rows_that_change_bits(const Weight& w, const Context& context,
                                           DType out_dtype = DType::kF32) {
  const std::vector<float> all = random_values(kAllRows * w.cols(), 3, w.input_dtype());
  const std::vector<float> alone = product_of_last(w, all, 1, out_dtype, context);
  std::vector<int64_t> changing;
  for (const int64_t m : kRowCounts) {
    const std::vector<float> out = product_of_last(w, all, m, out_dtype, context);
    const float* last = out.data() + (m - 1) * w.rows();
    if (std::memcmp(last, alone.data(), alone.size() * sizeof(float)) != 0) changing.push_back(m);
  }
  return changing;
}

void expect_invariant(const Weight& w) {
  for (const Isa isa : available_isas())
    for (const DType out : {DType::kF32, DType::kBF16}) {
      const Context context{.threads = 2, .isa = isa, .is_batch_invariant = true};
      EXPECT_EQ(rows_that_change_bits(w, context, out), std::vector<int64_t>{})
          << name_of(isa) << " " << name_of(w.format()) << " times " << name_of(w.input_dtype())
          << " [" << w.rows() << ", " << w.cols() << "] out " << name_of(out);
    }
}

// Sizes on and off multiples of panels and tiles, one whose sums AMX adds up in blocks, and one
// of many outputs.
constexpr std::pair<int64_t, int64_t> kMatrixSizes[] = {
    {97, 75}, {64, 64}, {130, 515}, {70, 6000}, {600, 320}};

TEST(BatchInvariantLinear, PlainWeights) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const auto& [rows, cols] : kMatrixSizes)
      expect_invariant(Weights(rows, cols, dtype, 1).packed);
}

TEST(BatchInvariantLinear, WeightsHeldAsCodes) {
  for (const WeightFormat format : reprise::testing::kCodeFormats)
    for (const DType input : {DType::kF32, DType::kBF16})
      for (const auto& [rows, cols] : {std::pair{97, 75}, {130, 515}})
        expect_invariant(Coded(rows, cols, {format, input}, 2).packed);
}

// If the context does not promise batch invariance, the number of rows chooses the kernel, and
// kernels add up in different orders.
TEST(BatchInvariantLinear, RowsOtherwiseChangeBitsInBf16) {
  if (!has_bf16_dot(best_isa())) GTEST_SKIP() << "one kernel of f32 arithmetic takes all rows here";
  const Weights w(600, 320, DType::kBF16, 1);
  for (const Isa isa : {Isa::kAvx512Bf16, Isa::kAmx}) {
    if (isa > best_isa()) continue;
    EXPECT_NE(rows_that_change_bits(w.packed, {.threads = 2, .isa = isa}), std::vector<int64_t>{})
        << name_of(isa);
  }
}

}  // namespace
}  // namespace reprise::kernels
