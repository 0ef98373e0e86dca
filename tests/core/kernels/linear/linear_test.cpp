#include "core/kernels/linear/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/linear/cpu/panels.h"
#include "core/kernels/linear/reference/linear.h"
#include "tests/core/kernels/linear/linear_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::expect_within;
using reprise::testing::random_values;
using reprise::testing::tensor_of;
using reprise::testing::values_of;
using testing::bounds;
using testing::check;
using testing::magnitudes;
using testing::Weights;

constexpr DType kWeightDtypes[] = {DType::kF32, DType::kBF16};
constexpr int64_t kRowEdges[] = {1, 63, 64, 65, 200};
constexpr int64_t kColEdges[] = {1, 15, 16, 17, 31, 32, 33, 172};

TEST(Linear, EveryEdgeOfRowsColumnsAndInputsMatchesTheReference) {
  uint64_t seed = 1;
  for (DType dtype : kWeightDtypes)
    for (int64_t rows : kRowEdges)
      for (int64_t cols : kColEdges) {
        const Weights w(rows, cols, dtype, ++seed);
        for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 13, 64}) check(w, m, {}, seed);
      }
}

TEST(Linear, BiasAccumulationAndOutputDtypeCombine) {
  uint64_t seed = 1000;
  for (DType dtype : kWeightDtypes)
    for (const auto& [rows, cols] : {std::pair{1, 1}, {63, 17}, {65, 33}, {200, 172}}) {
      const Weights w(rows, cols, dtype, ++seed);
      for (int64_t m : {1, 3, 4, 5, 7, 64})
        for (bool has_bias : {false, true}) {
          check(w, m, {.has_bias = has_bias, .out_dtype = DType::kBF16}, seed);
          check(w, m, {.has_bias = has_bias, .accumulate = true}, seed);
          check(w, m, {.has_bias = has_bias}, seed);
        }
    }
}

// A matrix above the size from which the streaming kernel uses several threads.
TEST(Linear, LargeMatrixMatchesTheReference) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(1030, 515, dtype, 5);
    for (int64_t m : {1, 2, 4, 5, 33}) check(w, m, {.has_bias = true, .accumulate = true}, 6);
  }
}

// Tries every way to cut the rows into groups. The 515 inputs are multiplied in several parts, of
// which the last is not full.
TEST(Linear, EveryNumberOfRowsUpToMoreThanOneTaskTakesMatchesTheReference) {
  const Weights w(130, 515, DType::kBF16, 7);
  for (int64_t m = 5; m <= 70; ++m)
    check(w, m, {.has_bias = m % 2 == 0, .accumulate = m % 3 == 0}, 8);
  for (int64_t m : {128, 129, 200, 257}) check(w, m, {}, 8);
}

// A workspace keeps buffers from call to call. What an earlier call left there must not be read.
TEST(Linear, OneWorkspaceServesManyShapesInTurn) {
  const Context context{.threads = 2, .isa = best_isa()};
  LinearWorkspace shared;
  for (int round = 0; round < 2; ++round)
    for (const DType dtype : kWeightDtypes)
      for (const int64_t cols : {515, 33}) {
        const Weights w(65, cols, dtype, 9);
        for (const int64_t m : {300, 64, 5, 1, 13}) {
          const Tensor x = tensor_of(random_values(m * cols, 10, dtype), dtype);
          std::vector<float> got(static_cast<size_t>(m * 65)), want(got.size());
          LinearWorkspace fresh;
          LinearCall{.x = x.data(), .m = m, .out = got.data()}.run(w.packed, shared, context);
          LinearCall{.x = x.data(), .m = m, .out = want.data()}.run(w.packed, fresh, context);
          EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0)
              << name_of(dtype) << " [65, " << cols << "] m " << m;
        }
      }
}

TEST(Linear, ReadsBackEveryRowExactly) {
  for (DType dtype : kWeightDtypes)
    for (int64_t rows : kRowEdges)
      for (int64_t cols : kColEdges) {
        const Weights w(rows, cols, dtype, 3);
        EXPECT_EQ(w.packed.rows(), rows);
        EXPECT_EQ(w.packed.cols(), cols);
        std::vector<float> row(static_cast<size_t>(cols));
        for (int64_t r = 0; r < rows; ++r) {
          w.packed.read_block(r, r + 1, 0, cols, row.data());
          EXPECT_EQ(std::memcmp(row.data(), w.values.data() + r * cols, row.size() * 4), 0)
              << name_of(dtype) << " [" << rows << ", " << cols << "] row " << r;
        }
      }
}

TEST(Linear, PackingDoesNotDependOnTheNumberOfThreads) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(200, 172, dtype, 3);
    const auto packed = [&](int threads) {
      return cpu::Panels(200, 172, format_of(dtype), w.filler(),
                         {.threads = threads, .isa = best_isa()});
    };
    const cpu::Panels one = packed(1), three = packed(3);
    EXPECT_EQ(one.panels(), 4);
    ASSERT_EQ(one.bytes(), three.bytes());
    EXPECT_EQ(std::memcmp(one.panel(0), three.panel(0), one.bytes()), 0);
  }
}

TEST(Linear, ResultsDoNotDependOnTheNumberOfThreads) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(700, 600, dtype, 4);  // above the size that stays on one thread
    for (int64_t m : {int64_t{1}, LinearCall::kStreamedRows, int64_t{40}}) {
      const Tensor x = tensor_of(random_values(m * w.cols, 5, dtype), dtype);
      for (Isa isa : available_isas()) {
        std::vector<float> first;
        for (int threads : {1, 2, 3, 7}) {
          Tensor out(DType::kF32, {m * w.rows});
          LinearWorkspace workspace;
          LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(
              w.packed, workspace, {.threads = threads, .isa = isa});
          if (first.empty()) first = values_of(out);
          EXPECT_EQ(values_of(out), first) << name_of(isa) << " threads " << threads;
        }
      }
    }
  }
}

// The streaming kernel treats each row by itself: in a batch of decodes, each row gets what it
// would get alone.
TEST(Linear, StreamedRowsGiveTheBitsOfEachRowAlone) {
  const Weights w(130, 70, DType::kF32, 4);
  const std::vector<float> x = random_values(3 * 70, 5);
  for (Isa isa : available_isas()) {
    const Context context{.threads = 1, .isa = isa};
    LinearWorkspace workspace;
    std::vector<float> together(3 * 130), alone(130);
    LinearCall{.x = x.data(), .m = 3, .out = together.data()}.run(w.packed, workspace, context);
    for (int64_t row = 0; row < 3; ++row) {
      LinearCall{.x = x.data() + row * 70, .m = 1, .out = alone.data()}.run(w.packed, workspace,
                                                                            context);
      EXPECT_EQ(std::vector(together.begin() + row * 130, together.begin() + (row + 1) * 130),
                alone);
    }
  }
}

// The first `rows` rows of a product of m rows. The other rows differ with m, and must not change
// the order in which the first rows' sums are added.
std::vector<float> first_rows(const Weights& w, int64_t rows, int64_t m, Isa isa) {
  const Tensor x = tensor_of(random_values(m * w.cols, 5, w.dtype), w.dtype);
  std::vector<float> out(static_cast<size_t>(m * w.rows));
  LinearWorkspace workspace;
  LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(w.packed, workspace,
                                                           {.threads = 2, .isa = isa});
  out.resize(static_cast<size_t>(rows * w.rows));
  return out;
}

TEST(Linear, OneOfManyBf16RowsHasTheSameBitsInEveryBatch) {
  if (best_isa() < Isa::kAvx512Bf16) GTEST_SKIP() << "other kernels compute them on this processor";
  const Weights w(130, 700, DType::kBF16, 4);
  const std::vector<float> want = first_rows(w, 5, 64, Isa::kAvx512Bf16);
  for (int64_t m = 5; m < 64; ++m)
    EXPECT_EQ(first_rows(w, 5, m, Isa::kAvx512Bf16), want) << m << " rows";
}

// Numbers of rows that make one tile, blocks of two tiles, blocks without a second tile, and
// several parts; and several parts of the inputs.
TEST(Linear, RowsInTilesHaveTheSameBitsInEveryBatch) {
  if (best_isa() < Isa::kAmx) GTEST_SKIP() << "this processor has no AMX, or may not use it";
  for (const int64_t cols : {700, 30000}) {
    const Weights w(130, cols, DType::kBF16, 4);
    const std::vector<float> want = first_rows(w, 2, 2, Isa::kAmx);
    for (const int64_t m : {3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 64, 129, 256, 257, 600})
      EXPECT_EQ(first_rows(w, 2, m, Isa::kAmx), want) << m << " rows of " << cols;
  }
}

// One row, a few rows, blocks of rows, and several parts.
TEST(Linear, RowsInF32ArithmeticHaveTheSameBitsInEveryBatch) {
  for (const Isa isa : available_isas())
    for (const DType dtype : kWeightDtypes) {
      if (isa > Isa::kAvx2 && (dtype == DType::kF32 || has_bf16_dot(isa))) continue;
      const Weights w(130, 700, dtype, 4);
      const std::vector<float> want = first_rows(w, 1, 1, isa);
      for (int64_t m : {2, 3, 4, 5, 7, 8, 12, 13, 18, 19, 64, 128, 129, 300})
        EXPECT_EQ(first_rows(w, 1, m, isa), want)
            << m << " rows, " << name_of(dtype) << ", " << name_of(isa);
    }
}

// Rounding must not turn a NaN whose bits are all set into zero.
TEST(Linear, ANanStaysOneInEveryOutputDtype) {
  const Weights w(64, 16, DType::kF32, 6);
  for (const Isa isa : available_isas())
    for (int64_t m : {1, 4, 13})
      for (DType out_dtype : {DType::kF32, DType::kBF16}) {
        Tensor x = tensor_of(random_values(m * w.cols, 5, DType::kF32), DType::kF32);
        x.as<float>()[0] = std::bit_cast<float>(0x7fffffffu);
        Tensor out(out_dtype, {m, w.rows});
        LinearWorkspace workspace;
        LinearCall{.x = x.data(), .m = m, .out = out.data(), .out_dtype = out_dtype}.run(
            w.packed, workspace, {.threads = 2, .isa = isa});
        const std::vector<float> got = values_of(out);
        for (size_t i = 0; i < 64; ++i)
          ASSERT_TRUE(std::isnan(got[i])) << name_of(isa) << ", " << m << " rows, output " << i;
      }
}

TEST(Linear, NothingBeyondTheOutputsIsWritten) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(65, 33, dtype, 4);
    for (int64_t m : {1, 4, 7}) {
      const Tensor x = tensor_of(random_values(m * w.cols, 5, dtype), dtype);
      for (DType out_dtype : {DType::kF32, DType::kBF16})
        for (Isa isa : available_isas()) {
          Tensor out =
              tensor_of(std::vector<float>(static_cast<size_t>(m * 65 + 64), 77.0f), out_dtype);
          LinearWorkspace workspace;
          LinearCall{.x = x.data(), .m = m, .out = out.data(), .out_dtype = out_dtype}.run(
              w.packed, workspace, {.threads = 1, .isa = isa});
          const std::vector<float> got = values_of(out);
          EXPECT_EQ(std::count(got.end() - 64, got.end(), 77.0f), 64) << name_of(isa);
        }
    }
  }
}

TEST(Linear, NanAndInfinityReachTheirOutputsOnly) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (DType dtype : kWeightDtypes) {
    const Weights w(3, 40, dtype, 4);
    for (int64_t m : {2, 6}) {
      std::vector<float> x = random_values(m * w.cols, 5, dtype);
      x[7] = std::numeric_limits<float>::quiet_NaN();
      x[static_cast<size_t>(w.cols)] = kInf;
      const Tensor input = tensor_of(x, dtype);
      for (Isa isa : available_isas()) {
        Tensor out(DType::kF32, {m * w.rows});
        LinearWorkspace workspace;
        LinearCall{.x = input.data(), .m = m, .out = out.data()}.run(w.packed, workspace,
                                                                     {.threads = 1, .isa = isa});
        const std::vector<float> got = values_of(out);
        for (size_t i = 0; i < got.size(); ++i) {
          if (i < 3) {
            EXPECT_TRUE(std::isnan(got[i])) << name_of(isa) << " output " << i;
          } else if (i < 6) {
            EXPECT_EQ(std::abs(got[i]), kInf) << name_of(isa) << " output " << i;
          } else {
            EXPECT_TRUE(std::isfinite(got[i])) << name_of(isa) << " output " << i;
          }
        }
      }
    }
  }
}

TEST(Linear, MovesItsStorage) {
  Weights w(65, 33, DType::kF32, 4);
  const WeightStore* before = w.packed.rows(0, 65).store;
  Weight moved = std::move(w.packed);
  EXPECT_EQ(moved.rows(0, 65).store, before);
  EXPECT_TRUE(w.packed.empty());
  w.packed = std::move(moved);
  check(w, 7, {}, 5);
}

// Parts of the outputs that begin at a panel or inside one, and end at the matrix's end or before
// it.
TEST(Linear, RowsOfAWeightAreALayerOfTheirOwn) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(200, 33, dtype, 7);
    for (const auto& [first, end] : {std::pair{0, 200},
                                     {64, 128},
                                     {64, 199},
                                     {1, 2},
                                     {63, 65},
                                     {100, 200},
                                     {199, 200},
                                     {128, 200},
                                     {5, 5}}) {
      const std::vector<float> part(w.values.begin() + first * 33, w.values.begin() + end * 33);
      for (int64_t m : {1, 5, 13})
        for (Isa isa : available_isas()) {
          const std::vector<float> x = random_values(m * 33, 8, dtype);
          const std::vector<float> bias = random_values(end - first, 9);
          const std::vector<double> want = reference::linear(part, end - first, 33, x, m, bias);
          const std::vector<double> sums = reference::linear(magnitudes(part), end - first, 33,
                                                             magnitudes(x), m, magnitudes(bias));
          const Tensor input = tensor_of(x, dtype);
          std::vector<float> out(want.size() + 64, 77.0f);
          LinearWorkspace workspace;
          LinearCall{.x = input.data(), .m = m, .bias = bias.data(), .out = out.data()}.run(
              w.packed.rows(first, end), workspace, {.threads = 2, .isa = isa});
          EXPECT_EQ(std::count(out.end() - 64, out.end(), 77.0f), 64);
          out.resize(want.size());
          expect_within(out, want, bounds(want, sums, 33, DType::kF32),
                        fmt::format("rows [{}, {}) m {} isa {}", first, end, m, name_of(isa)));
        }
    }
  }
}

TEST(Linear, BlocksAreReadBackExactly) {
  for (DType dtype : kWeightDtypes) {
    const Weights w(130, 37, dtype, 7);
    for (const auto& [first_row, end_row] : {std::pair{0, 130}, {63, 66}, {129, 130}, {4, 4}})
      for (const auto& [first_col, end_col] : {std::pair{0, 37}, {1, 2}, {15, 34}, {37, 37}}) {
        std::vector<float> want, got;
        for (int64_t r = first_row; r < end_row; ++r)
          want.insert(want.end(), w.values.begin() + r * 37 + first_col,
                      w.values.begin() + r * 37 + end_col);
        got.resize(want.size());
        w.packed.read_block(first_row, end_row, first_col, end_col, got.data());
        EXPECT_EQ(got, want) << name_of(dtype) << " row " << first_row << " column " << first_col;
      }
  }
}

// Products of many rows are computed in parts of up to 256 rows (bf16) or 128 rows (f32).
TEST(Linear, EveryEdgeOfThePartsMatchesTheReference) {
  uint64_t seed = 2000;
  for (const DType dtype : kWeightDtypes)
    for (const int64_t rows : {1, 64, 255, 256, 257, 600}) {
      const Weights w(rows, 33, dtype, ++seed);
      for (const int64_t m : {5, 255, 256, 257, 513}) {
        check(w, m, {.has_bias = true, .accumulate = true}, seed, {best_isa()});
        check(w, m, {.has_bias = true, .out_dtype = DType::kBF16}, seed, {best_isa()});
      }
    }
}

// More inputs than a block of weights has, with numbers of rows that different loops multiply.
TEST(Linear, SeveralBlocksOfInputsMatchTheReference) {
  for (const DType dtype : kWeightDtypes)
    for (const int64_t inputs : {2048, 5634}) {
      const Weights w(70, inputs, dtype, 3);
      for (const int64_t m : {13, 19, 33, 300})
        check(w, m, {.has_bias = true, .accumulate = true}, 4, {best_isa()});
    }
}

// linear.h promises this for plain weights.
TEST(Linear, ARowsBitsDoNotDependOnTheNumberOfRows) {
  constexpr int64_t kMostRows = 300;
  for (const DType dtype : kWeightDtypes)
    for (const Isa isa : available_isas()) {
      const Weights w(130, 2100, dtype, 5);
      const Tensor x = tensor_of(random_values(kMostRows * 2100, 6, dtype), dtype);
      LinearWorkspace workspace;
      std::vector<float> all(kMostRows * 130);
      const Context context{.threads = 2, .isa = isa};
      LinearCall{.x = x.data(), .m = kMostRows, .out = all.data()}.run(w.packed, workspace,
                                                                       context);
      for (const int64_t m : {5, 12, 13, 18, 19, 65, 129, 257}) {
        std::vector<float> some(static_cast<size_t>(m * 130));
        LinearCall{.x = x.data(), .m = m, .out = some.data()}.run(w.packed, workspace, context);
        EXPECT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0)
            << name_of(dtype) << " " << name_of(isa) << " m " << m;
      }
    }
}

TEST(Linear, BitsDoNotDependOnTheNumberOfThreads) {
  for (const DType dtype : kWeightDtypes)
    for (const int64_t rows : {64, 300, 700}) {
      const Weights w(rows, 50, dtype, 7);
      for (const int64_t m : {1, 5, 257, 513}) {
        const Tensor x = tensor_of(random_values(m * 50, 8, dtype), dtype);
        std::vector<std::vector<float>> outs;
        for (const int threads : {1, 2, 5}) {
          std::vector<float>& out = outs.emplace_back(static_cast<size_t>(m * rows));
          LinearWorkspace workspace;
          LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(
              w.packed, workspace, {.threads = threads, .isa = best_isa()});
          EXPECT_EQ(std::memcmp(outs[0].data(), out.data(), out.size() * sizeof(float)), 0)
              << name_of(dtype) << " rows " << rows << " m " << m << " threads " << threads;
        }
      }
    }
}

TEST(Linear, DevicesAndFormatsThatAreNotThereAreNamed) {
  const auto fill = [](int64_t, int64_t, void*) {};
  const auto message = [&](const Context& context, WeightFormat format) -> std::string {
    try {
      const Weight w(2, 2, format, fill, context);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({.device = Device::kCuda}, WeightFormat::kF32).find("cuda"), std::string::npos);
  EXPECT_NE(message({}, WeightFormat::kF16).find("f16"), std::string::npos);
}

TEST(Linear, F16WeightsAreRefusedWithTheWayOut) {
  try {
    const Weights w(2, 2, DType::kF16, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos) << error.what();
  }
}

TEST(Linear, ErrorOfTheFillerReachesTheCaller) {
  const auto fill = [](int64_t, int64_t, void*) { raise("the file ends early"); };
  EXPECT_THROW(Weight(200, 8, WeightFormat::kF32, fill, {.threads = 2, .isa = best_isa()}), Error);
}

}  // namespace
}  // namespace reprise::kernels
