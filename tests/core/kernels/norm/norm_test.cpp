#include "core/kernels/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/norm/reference/norm.h"
#include "tests/core/kernels/norm/norm_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;
using reprise::testing::values_of;

constexpr int64_t kCols[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 200, 4096, 4099};

TEST(Norm, EveryWidthMatchesTheReference) {
  for (int64_t cols : kCols)
    for (bool is_rms : {true, false})
      for (bool has_bias : {false, true})
        for (DType out_dtype : {DType::kF32, DType::kBF16})
          for (int64_t rows : {1, 5}) {
            const std::vector<float> x = random_values(rows * cols, 1),
                                     weight = random_values(cols, 2), bias = random_values(cols, 3);
            testing::check_norm({.is_rms = is_rms,
                                 .weight = weight.data(),
                                 .bias = has_bias ? bias.data() : nullptr,
                                 .x = x.data(),
                                 .out_dtype = out_dtype,
                                 .rows = rows,
                                 .cols = cols},
                                has_bias ? "bias" : "no bias");
          }
}

// The variance is computed in a second pass, so a mean a thousand times the deviation must not
// cancel it.
TEST(Norm, LargeMeansDoNotCancel) {
  for (int64_t cols : {64, 4096}) {
    std::vector<float> x = random_values(3 * cols, 1);
    for (float& value : x) value += 1000.0f;
    const std::vector<float> weight(static_cast<size_t>(cols), 1.0f);
    testing::check_norm(
        {.is_rms = false, .weight = weight.data(), .x = x.data(), .rows = 3, .cols = cols},
        "mean 1000");
  }
}

TEST(Norm, LargeAndSmallMagnitudesMatchTheReference) {
  for (float magnitude : {1e-20f, 1e-6f, 1e6f, 1e15f}) {
    const std::vector<float> x = random_values(2 * 100, 1, DType::kF32, magnitude);
    const std::vector<float> weight = random_values(100, 2);
    for (bool is_rms : {true, false})
      testing::check_norm(
          {.is_rms = is_rms, .weight = weight.data(), .x = x.data(), .rows = 2, .cols = 100},
          "magnitude " + std::to_string(magnitude));
  }
}

TEST(Norm, RowOfZerosBecomesTheBias) {
  const std::vector<float> x(33, 0.0f), weight(33, 2.0f), bias = random_values(33, 3);
  for (Isa isa : available_isas())
    for (bool is_rms : {true, false}) {
      std::vector<float> out(33, 7.0f);
      NormCall{.is_rms = is_rms,
               .weight = weight.data(),
               .bias = bias.data(),
               .x = x.data(),
               .out = out.data(),
               .rows = 1,
               .cols = 33}
          .run({.threads = 1, .isa = isa});
      EXPECT_EQ(out, bias);
    }
}

TEST(Norm, OutputMayReplaceTheInput) {
  const std::vector<float> x = random_values(4 * 70, 1), weight = random_values(70, 2);
  for (Isa isa : available_isas())
    for (bool is_rms : {true, false}) {
      NormCall call{.is_rms = is_rms, .weight = weight.data(), .rows = 4, .cols = 70};
      std::vector<float> apart(x.size()), in_place = x;
      call.x = x.data();
      call.out = apart.data();
      call.run({.threads = 2, .isa = isa});
      call.x = in_place.data();
      call.out = in_place.data();
      call.run({.threads = 2, .isa = isa});
      EXPECT_EQ(apart, in_place);
    }
}

TEST(Norm, NoRowsWriteNothing) {
  float out = 5.0f;
  const float weight = 1.0f;
  NormCall{.weight = &weight, .x = &out, .out = &out, .rows = 0, .cols = 1}.run(
      {.threads = 2, .isa = best_isa()});
  EXPECT_EQ(out, 5.0f);
}

TEST(Norm, NanSpoilsItsOwnRowOnly) {
  for (Isa isa : available_isas())
    for (bool is_rms : {true, false})
      for (DType out_dtype : {DType::kF32, DType::kBF16})
        for (int64_t at : {0, 18}) {  // in a vector, in the tail
          std::vector<float> x = random_values(2 * 19, 1);
          x[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
          const std::vector<float> weight(19, 1.0f);
          Tensor out(out_dtype, {2 * 19});
          NormCall{.is_rms = is_rms,
                   .weight = weight.data(),
                   .x = x.data(),
                   .out = out.data(),
                   .out_dtype = out_dtype,
                   .rows = 2,
                   .cols = 19}
              .run({.threads = 1, .isa = isa});
          const std::vector<float> got = values_of(out);
          for (size_t i = 0; i < 38; ++i) EXPECT_EQ(std::isnan(got[i]), i < 19) << i;
        }
}

TEST(Norm, ResultDoesNotDependOnTheNumberOfThreads) {
  const std::vector<float> x = random_values(100 * 600, 1), weight = random_values(600, 2);
  std::vector<float> first;
  for (int threads : {1, 2, 5}) {
    std::vector<float> out(x.size());
    NormCall{.weight = weight.data(), .x = x.data(), .out = out.data(), .rows = 100, .cols = 600}
        .run({.threads = threads, .isa = best_isa()});
    if (first.empty()) first = out;
    EXPECT_EQ(out, first);
  }
}

}  // namespace
}  // namespace reprise::kernels
