// Tests products with weights held as codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/quantized_panel.h"
#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/reference/linear.h"
#include "tests/core/kernels/linear/linear_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::Coded;
using reprise::testing::expect_within;
using reprise::testing::kCodeFormats;
using reprise::testing::kUnitBf16;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;
using reprise::testing::tensor_of;
using reprise::testing::values_of;
using testing::bounds;
using testing::check;
using testing::magnitudes;

constexpr DType kInputs[] = {DType::kF32, DType::kBF16};

// These numbers of rows take every path: codes that are decoded as they are read, and expanded
// panels.
constexpr int64_t kInputRows[] = {0, 1, 2, 3, 4, 5, 8, 9, 13, 65, 129};

TEST(QuantizedLinear, EveryEdgeOfRowsColumnsAndInputsMatchesTheReference) {
  uint64_t seed = 1;
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs)
      for (int64_t rows : {1, 64, 65})
        for (int64_t cols : {1, 8, 31, 33, 64, 70, 97, 128, 150, 160, 256}) {
          const Coded w(rows, cols, {format, input}, ++seed);
          for (int64_t m : kInputRows) check(w, m, {}, seed);
        }
}

// Tries every code at every output, in either input of a pair.
TEST(QuantizedLinear, BytesByPermutationAreTheNumbersOfTheirCodes) {
  if (!__builtin_cpu_supports("avx512vbmi")) GTEST_SKIP() << "this processor has no AVX512-VBMI";
  constexpr int64_t kCodes = 64 * cpu::kStepInputs * cpu::kPanelOutputs;
  // The memory that follows is prefetched but not read, and may hold anything.
  constexpr int64_t kOutputs = cpu::kPanelOutputs;
  std::vector<int8_t> codes(kCodes);
  for (int64_t i = 0; i < std::ssize(codes); ++i)
    codes[static_cast<size_t>(i)] =
        static_cast<int8_t>((i / kOutputs + 4 * (i % kOutputs)) % 255 - 127);
  std::vector<bf16> out(codes.size());
  cpu::decode_bytes_avx512_vbmi(codes.data(), kCodes / cpu::kStepInputs / kOutputs, out.data());
  for (int64_t i = 0; i < std::ssize(codes); ++i) {
    const int64_t input = i / kOutputs, output = i % kOutputs;
    const auto at = static_cast<size_t>((input / 2 * kOutputs + output) * 2 + input % 2);
    ASSERT_EQ(static_cast<float>(out[at]), static_cast<float>(codes[static_cast<size_t>(i)]))
        << "input " << input << " output " << output;
  }
}

TEST(QuantizedLinear, BiasAccumulationAndOutputDtypeCombine) {
  uint64_t seed = 1000;
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(65, 130, {format, input}, ++seed);
      for (int64_t m : {1, 3, 8, 9, 129})
        for (bool has_bias : {false, true}) {
          check(w, m, {.has_bias = has_bias, .out_dtype = DType::kBF16}, seed);
          check(w, m, {.has_bias = has_bias, .accumulate = true}, seed);
        }
    }
}

// Compares with the values from which the codes were made. The error is at most half a step of each
// weight times its input, plus what the kernels round.
TEST(QuantizedLinear, ErrorAgainstTheValuesIsAtMostHalfAStepOfEachWeight) {
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(65, 320, {format, input}, 21);
      const std::vector<float> half_steps(w.want.half_steps.begin(), w.want.half_steps.end());
      for (int64_t m : {1, 9, 130}) {
        const std::vector<float> x = random_values(m * w.cols, 22, input);
        const Tensor in = tensor_of(x, input);
        const std::vector<double> want = reference::linear(w.values, w.rows, w.cols, x, m, {});
        const std::vector<double> rest(want.size());
        std::vector<double> bound = bounds(w, x, m, want, rest, DType::kF32);
        const std::vector<double> rounding =
            reference::linear(half_steps, w.rows, w.cols, magnitudes(x), m, {});
        for (size_t i = 0; i < bound.size(); ++i) bound[i] += (1 + 0x1p-20) * rounding[i];
        for (Isa isa : available_isas()) {
          std::vector<float> out(static_cast<size_t>(m * w.rows));
          LinearWorkspace workspace;
          LinearCall{.x = in.data(), .m = m, .out = out.data()}.run(w.packed, workspace,
                                                                    {.threads = 1, .isa = isa});
          expect_within(out, want, bound, fmt::format("{} m {} isa {}", w.text(), m, name_of(isa)));
        }
      }
    }
}

// Matrices above the size from which streaming uses several threads, and with several panels of
// outputs and parts of rows.
TEST(QuantizedLinear, LargeMatricesMatchTheReference) {
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(1030, 384, {format, input}, 5);
      for (int64_t m : {1, 4, 9, 70, 300})
        check(w, m, {.has_bias = true, .accumulate = true}, 6, {best_isa()});
    }
}

// Parts of the outputs that begin at a panel or inside one, and end at the matrix's end or before
// it.
TEST(QuantizedLinear, RowsOfAWeightAreALayerOfTheirOwn) {
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(200, 40, {format, input}, 7);
      for (const auto& [first, end] :
           {std::pair{0, 200}, {64, 128}, {1, 2}, {63, 65}, {100, 200}, {199, 200}, {5, 5}})
        for (int64_t m : {1, 9, 130})
          for (Isa isa : available_isas()) {
            const std::vector<float> x = random_values(m * 40, 8, input);
            const Tensor in = tensor_of(x, input);
            const Context context{.threads = 2, .isa = isa};
            const std::vector<float> bias = random_values(end - first, 9);
            std::vector<float> part(static_cast<size_t>(m * (end - first) + 64), 77.0f);
            LinearWorkspace workspace;
            LinearCall{.x = in.data(), .m = m, .bias = bias.data(), .out = part.data()}.run(
                w.packed.rows(first, end), workspace, context);
            EXPECT_EQ(std::count(part.end() - 64, part.end(), 77.0f), 64);
            part.resize(part.size() - 64);
            const std::vector<float> held(w.held.begin() + first * 40, w.held.begin() + end * 40);
            const std::vector<double> want = reference::linear(held, end - first, 40, x, m, bias);
            std::vector<double> bound =
                reference::linear(magnitudes(held), end - first, 40, magnitudes(x), m, {});
            // In f32, 144 sums of parts are rounded, each below 200.
            for (double& b : bound)
              b = 144 * 200 * kUnitF32 + (input == DType::kBF16 ? kUnitBf16 * b : 0.0);
            expect_within(
                part, want, bound,
                fmt::format("{} rows [{}, {}) m {} isa {}", w.text(), first, end, m, name_of(isa)));
          }
    }
}

TEST(QuantizedLinear, ResultsDoNotDependOnTheNumberOfThreads) {
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(700, 320, {format, input}, 4);
      for (int64_t m : {1, 8, 40, 130}) {
        const Tensor x = tensor_of(random_values(m * w.cols, 5, input), input);
        for (Isa isa : available_isas()) {
          std::vector<float> first;
          for (int threads : {1, 2, 5}) {
            Tensor out(DType::kF32, {m * w.rows});
            LinearWorkspace workspace;
            LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(
                w.packed, workspace, {.threads = threads, .isa = isa});
            if (first.empty()) first = values_of(out);
            EXPECT_EQ(values_of(out), first) << w.text() << " " << name_of(isa) << " " << threads;
          }
        }
      }
    }
}

std::vector<float> product_of(const Coded& w, const void* x, int64_t m, Isa isa) {
  std::vector<float> out(static_cast<size_t>(m * w.rows));
  LinearWorkspace workspace;
  LinearCall{.x = x, .m = m, .out = out.data()}.run(w.packed, workspace,
                                                    {.threads = 1, .isa = isa});
  return out;
}

// In a batch of decodes, each row gets what it would get alone.
TEST(QuantizedLinear, StreamedRowsGiveTheBitsOfEachRowAlone) {
  constexpr int64_t kRows = LinearCall::kCodedRows;
  for (WeightFormat format : kCodeFormats) {
    const Coded w(130, 200, format, 4);
    const std::vector<float> x = random_values(kRows * 200, 5);
    for (Isa isa : available_isas()) {
      const std::vector<float> together = product_of(w, x.data(), kRows, isa);
      for (int64_t row = 0; row < kRows; ++row)
        EXPECT_EQ(std::vector(together.begin() + row * 130, together.begin() + (row + 1) * 130),
                  product_of(w, x.data() + row * 200, 1, isa))
            << w.text() << " " << name_of(isa) << " row " << row;
    }
  }
}

// For a step of one or two bf16 rows, the kernel adds the products in another order than for more
// rows, to keep the processor busy. So this test begins with three rows.
TEST(QuantizedLinear, OneOfManyBf16RowsHasTheSameBitsInEveryBatch) {
  constexpr Isa kIsa = Isa::kAvx512Bf16;
  if (best_isa() < kIsa)
    GTEST_SKIP() << "panels are expanded for more than a few rows on this processor";
  for (WeightFormat format : kCodeFormats) {
    const Coded w(130, 300, {format, DType::kBF16}, 4);
    constexpr int64_t kMost = LinearCall::kManyCodedRows;
    const Tensor x = tensor_of(random_values(kMost * 300, 5, DType::kBF16), DType::kBF16);
    const auto first_rows = [&](int64_t m) {
      std::vector<float> out = product_of(w, x.data(), m, kIsa);
      out.resize(3 * 130);
      return out;
    };
    const std::vector<float> want = first_rows(kMost);
    for (int64_t m = 3; m < kMost; ++m)
      EXPECT_EQ(first_rows(m), want) << w.text() << " " << m << " rows";
  }
}

TEST(QuantizedLinear, NanReachesItsOutputsOnly) {
  for (WeightFormat format : kCodeFormats)
    for (DType input : kInputs) {
      const Coded w(3, 40, {format, input}, 4);
      for (int64_t m : {2, 9, 130}) {
        std::vector<float> x = random_values(m * 40, 5, input);
        x[7] = std::numeric_limits<float>::quiet_NaN();
        const Tensor in = tensor_of(x, input);
        for (Isa isa : available_isas()) {
          std::vector<float> out(static_cast<size_t>(m * 3));
          LinearWorkspace workspace;
          LinearCall{.x = in.data(), .m = m, .out = out.data()}.run(w.packed, workspace,
                                                                    {.threads = 1, .isa = isa});
          for (size_t i = 0; i < out.size(); ++i)
            EXPECT_EQ(std::isnan(out[i]), i < 3) << w.text() << " " << name_of(isa) << " " << i;
        }
      }
    }
}

}  // namespace
}  // namespace reprise::kernels
