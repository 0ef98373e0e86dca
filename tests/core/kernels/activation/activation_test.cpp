#include "core/kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/activation/reference/activation.h"
#include "tests/core/kernels/activation/activation_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;
using reprise::testing::tensor_of;
using reprise::testing::values_of;

TEST(Activation, EveryWidthMatchesTheReference) {
  for (ActivationKind kind : testing::kActivations)
    for (bool is_gated : {false, true})
      for (DType dtype : {DType::kF32, DType::kBF16})
        for (int64_t cols : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 172})
          for (int64_t rows : {1, 3})
            testing::check_activation(kind, is_gated, dtype,
                                      random_values(rows * cols * (is_gated ? 2 : 1),
                                                    static_cast<uint64_t>(cols), dtype, 3.0f),
                                      rows, cols);
}

TEST(Activation, WholeRangeMatchesTheReference) {
  for (ActivationKind kind : testing::kActivations)
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      std::vector<float> x;
      for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) / 32.0f);  // +-125
      for (float magnitude = 1e-38f; magnitude < 1e38f; magnitude *= 3.7f) {
        x.push_back(magnitude);
        x.push_back(-magnitude);
      }
      x.push_back(0.0f);
      x.push_back(std::numeric_limits<float>::max());
      x.push_back(std::numeric_limits<float>::lowest());
      if (dtype == DType::kBF16)  // f32's largest would round to infinity
        for (float& value : x) value = std::clamp(value, -3.0e38f, 3.0e38f);
      testing::check_activation(kind, false, dtype, x, 1, static_cast<int64_t>(x.size()));
    }
}

// Puts a NaN into every lane of a vector and into the tail, on either side of the gate.
TEST(Activation, NanStaysNanAndTouchesNothingElse) {
  constexpr int64_t kCols = 37;
  for (ActivationKind kind : testing::kActivations)
    for (bool is_gated : {false, true})
      for (DType dtype : {DType::kF32, DType::kBF16})
        for (Isa isa : available_isas())
          for (int64_t at = 0; at < (is_gated ? 2 : 1) * kCols; ++at) {
            std::vector<float> x = random_values((is_gated ? 2 : 1) * kCols, 1);
            x[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
            const Tensor input = tensor_of(x, dtype);
            Tensor out(dtype, {kCols});
            ActivationCall{.kind = kind,
                           .is_gated = is_gated,
                           .x = input.data(),
                           .out = out.data(),
                           .dtype = dtype,
                           .rows = 1,
                           .cols = kCols}
                .run({.threads = 1, .isa = isa});
            const std::vector<float> got = values_of(out);
            for (int64_t i = 0; i < kCols; ++i)
              EXPECT_EQ(std::isnan(got[static_cast<size_t>(i)]), i == at % kCols)
                  << testing::name_of(kind) << " NaN at " << at << ", element " << i;
          }
}

TEST(Activation, PositiveInfinityStaysInfinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x(19, kInf);
  for (ActivationKind kind : testing::kActivations)
    for (Isa isa : available_isas()) {
      std::vector<float> out(19);
      ActivationCall{.kind = kind, .x = x.data(), .out = out.data(), .rows = 1, .cols = 19}.run(
          {.threads = 1, .isa = isa});
      EXPECT_EQ(out, x) << testing::name_of(kind) << " " << name_of(isa);
    }
}

TEST(Activation, PlainOutputMayReplaceTheInput) {
  for (ActivationKind kind : testing::kActivations) {
    const std::vector<float> x = random_values(3 * 21, 1);
    std::vector<float> apart(x.size()), in_place = x;
    ActivationCall call{.kind = kind, .x = x.data(), .out = apart.data(), .rows = 3, .cols = 21};
    call.run({.threads = 1, .isa = best_isa()});
    call.x = call.out = in_place.data();
    call.run({.threads = 1, .isa = best_isa()});
    EXPECT_EQ(apart, in_place);
  }
}

TEST(Activation, NothingBeyondTheRowsIsWritten) {
  const std::vector<float> x = random_values(2 * 2 * 5, 1);
  for (Isa isa : available_isas()) {
    std::vector<float> out(2 * 5 + 16, 77.0f);
    ActivationCall{.is_gated = true, .x = x.data(), .out = out.data(), .rows = 2, .cols = 5}.run(
        {.threads = 1, .isa = isa});
    EXPECT_EQ(std::count(out.end() - 16, out.end(), 77.0f), 16);
  }
}

}  // namespace
}  // namespace reprise::kernels
