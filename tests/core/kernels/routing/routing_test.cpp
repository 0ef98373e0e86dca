// Compares the router, its groups and the sum of experts with their definitions.
#include "core/kernels/routing/routing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/routing/reference/routing.h"
#include "core/kernels/rows/combine_rows.h"
#include "core/kernels/rows/reference/combine_rows.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::expect_within;
using reprise::testing::kSmallestNormal;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Routed {
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

// Routes logits [rows, experts]. Expects that the value behind each output stays unchanged.
Routed route(const std::vector<float>& logits, int64_t experts, int64_t per_row, bool normalized,
             int threads = 2) {
  const int64_t rows = static_cast<int64_t>(logits.size()) / experts;
  Routed out{std::vector<int32_t>(static_cast<size_t>(rows * per_row) + 1, 77),
             std::vector<float>(static_cast<size_t>(rows * per_row) + 1, 7.5f)};
  RoutingCall{.logits = logits.data(),
              .rows = rows,
              .experts = experts,
              .per_row = per_row,
              .normalized = normalized,
              .chosen = out.chosen.data(),
              .weights = out.weights.data()}
      .run({.threads = threads});
  EXPECT_EQ(out.chosen.back(), 77);
  EXPECT_EQ(out.weights.back(), 7.5f);
  out.chosen.pop_back();
  out.weights.pop_back();
  return out;
}

// The bound that routing.h promises for each weight, plus the loss if a weight below the normal
// numbers is flushed to zero.
std::vector<double> bounds_of(const std::vector<float>& logits, int64_t experts,
                              const reference::Routing& want, int64_t per_row) {
  std::vector<double> bounds;
  for (size_t i = 0; i < want.chosen.size(); ++i) {
    const float* row = logits.data() + static_cast<int64_t>(i) / per_row * experts;
    const double below = *std::max_element(row, row + experts) - row[want.chosen[i]];
    bounds.push_back(want.weights[i] * (static_cast<double>(experts) + 8 + below) * kUnitF32 +
                     kSmallestNormal);
  }
  return bounds;
}

void expect_reference(const std::vector<float>& logits, int64_t experts, int64_t per_row,
                      const std::string& what) {
  for (const bool normalized : {false, true}) {
    const Routed got = route(logits, experts, per_row, normalized);
    const reference::Routing want =
        reference::routing({.logits = logits.data(),
                            .rows = static_cast<int64_t>(logits.size()) / experts,
                            .experts = experts,
                            .per_row = per_row,
                            .normalized = normalized});
    EXPECT_EQ(got.chosen, want.chosen) << what;
    expect_within(got.weights, want.weights, bounds_of(logits, experts, want, per_row), what);
    EXPECT_EQ(route(logits, experts, per_row, normalized, /*threads=*/1).weights, got.weights);
  }
}

TEST(Routing, RandomRowsMatchTheReference) {
  for (const int64_t rows : {0, 1, 2, 300})
    for (const int64_t experts : {1, 2, 7, 60, 256})
      for (const int64_t per_row : {int64_t{1}, int64_t{2}, int64_t{4}, experts}) {
        if (per_row > experts) continue;
        for (const float scale : {0.01f, 1.0f, 40.0f})
          expect_reference(
              random_values(rows * experts, static_cast<uint64_t>(experts), DType::kF32, scale),
              experts, per_row,
              fmt::format("{} rows, {} of {} experts, scale {}", rows, per_row, experts, scale));
      }
}

// With few different values, nearly every choice is among equal logits.
TEST(Routing, TiesGoToTheLowerExpert) {
  std::vector<float> logits = random_values(200 * 13, 5, DType::kF32, 1.5f);
  for (float& value : logits) value = std::round(value);
  for (const int64_t per_row : {1, 3, 13}) expect_reference(logits, 13, per_row, "rounded logits");
  const Routed equal = route(std::vector<float>(5, 2.0f), 5, 3, /*normalized=*/false);
  EXPECT_EQ(equal.chosen, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(equal.weights, std::vector<float>(3, 0.2f));
}

TEST(Routing, LogitsThatExponentialsCannotHoldAreNoTrouble) {
  const std::vector<float> logits = {3e38f,  -3e38f, 1000.0f, -kInfinity, 88.0f,      -1000.0f,
                                     -3e38f, -3e38f, -3e38f,  -3e38f,     -kInfinity, -3e38f};
  expect_reference(logits, 6, 3, "large logits");
  const Routed got = route({-kInfinity, -kInfinity, 5.0f}, 3, 3, /*normalized=*/true);
  EXPECT_EQ(got.chosen, (std::vector<int32_t>{2, 0, 1}));
  EXPECT_EQ(got.weights, (std::vector<float>{1.0f, 0.0f, 0.0f}));
}

TEST(Routing, RowsWithoutASoftmaxGetNanAndHarmNoOther) {
  const float nan = std::nanf("");
  for (const std::vector<float>& bad :
       std::vector<std::vector<float>>{{nan, 1.0f, 2.0f},
                                       {1.0f, 2.0f, nan},
                                       {nan, nan, nan},
                                       {1.0f, kInfinity, 2.0f},
                                       {-kInfinity, -kInfinity, -kInfinity}}) {
    std::vector<float> logits = {1.0f, 3.0f, 2.0f};
    logits.insert(logits.end(), bad.begin(), bad.end());
    logits.insert(logits.end(), {3.0f, 1.0f, 2.0f});
    for (const bool normalized : {false, true}) {
      const Routed got = route(logits, 3, 2, normalized);
      EXPECT_EQ(got.chosen, (std::vector<int32_t>{1, 2, 0, 1, 0, 2}));
      const reference::Routing want = reference::routing({.logits = logits.data(),
                                                          .rows = 3,
                                                          .experts = 3,
                                                          .per_row = 2,
                                                          .normalized = normalized});
      EXPECT_EQ(got.chosen, want.chosen);
      for (const size_t i : {2u, 3u})
        EXPECT_TRUE(std::isnan(got.weights[i]) && std::isnan(want.weights[i]));
      EXPECT_EQ(got.weights[0], got.weights[4]);
      EXPECT_TRUE(std::isfinite(got.weights[0]) && std::isfinite(got.weights[1]));
    }
  }
}

TEST(ExpertGroups, EveryPairStandsOnceWithItsExpert) {
  for (const int64_t experts : {1, 5, 60})
    for (const int64_t rows : {0, 1, 150}) {
      const int64_t per_row = std::min<int64_t>(3, experts);
      const std::vector<float> logits = random_values(rows * experts, 9);
      const std::vector<int32_t> chosen = route(logits, experts, per_row, false).chosen;
      ExpertGroups groups;
      groups.rows.assign(9999, -1);  // memory of an earlier step
      group_by_expert(chosen, per_row, experts, groups);
      ASSERT_EQ(groups.begin.size(), static_cast<size_t>(experts) + 1);
      EXPECT_EQ(groups.begin.front(), 0);
      EXPECT_EQ(groups.begin.back(), rows * per_row);
      ASSERT_EQ(groups.rows.size(), chosen.size());
      ASSERT_EQ(groups.places.size(), chosen.size());
      for (size_t i = 0; i < chosen.size(); ++i) {
        const int32_t place = groups.places[i];
        const auto expert = static_cast<size_t>(chosen[i]);
        EXPECT_EQ(groups.rows[static_cast<size_t>(place)], static_cast<int64_t>(i) / per_row);
        EXPECT_TRUE(groups.begin[expert] <= place && place < groups.begin[expert + 1]);
      }
      for (size_t e = 0; e < static_cast<size_t>(experts); ++e)
        for (int32_t p = groups.begin[e] + 1; p < groups.begin[e + 1]; ++p)
          EXPECT_GT(groups.rows[static_cast<size_t>(p)], groups.rows[static_cast<size_t>(p) - 1]);
    }
}

TEST(CombineRows, EveryInstructionSetMatchesTheReferenceOnAnyNumberOfThreads) {
  for (const int64_t cols : {1, 15, 16, 17, 200})
    for (const int64_t rows : {0, 1, 90})
      for (const int64_t per_row : {1, 4}) {
        const int64_t pairs = rows * per_row;
        const std::vector<float> in = random_values((pairs + 1) * cols, 1);
        const std::vector<float> weights = random_values(pairs, 2);
        std::vector<int32_t> places;
        for (int64_t i = 0; i < pairs; ++i)
          places.push_back(static_cast<int32_t>((i * 7919) % (pairs + 1)));
        const std::vector<float> before = random_values(rows * cols, 3);
        std::vector<float> out = before;
        CombineRowsCall call{.in = in.data(),
                             .places = places,
                             .weights = weights,
                             .out = out.data(),
                             .rows = rows,
                             .per_row = per_row,
                             .cols = cols};
        const std::vector<double> want = reference::combine_rows(call);
        // A term is rounded once as a product, and once for each addition that follows.
        std::vector<double> bound;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < cols; ++c) {
            double magnitude = std::abs(before[static_cast<size_t>(r * cols + c)]);
            for (int64_t s = 0; s < per_row; ++s) {
              const auto at = static_cast<size_t>(r * per_row + s);
              magnitude +=
                  std::abs(double{weights[at]} * in[static_cast<size_t>(places[at] * cols + c)]);
            }
            bound.push_back(magnitude * static_cast<double>(per_row + 1) * kUnitF32);
          }
        for (const Isa isa : available_isas()) {
          out = before;
          call.run({.threads = 2, .isa = isa});
          expect_within(out, want, bound, fmt::format("{} rows of {}", rows, cols));
          const std::vector<float> of_two = out;
          out = before;
          call.run({.threads = 1, .isa = isa});
          EXPECT_EQ(out, of_two);
        }
      }
}

}  // namespace
}  // namespace reprise::kernels
