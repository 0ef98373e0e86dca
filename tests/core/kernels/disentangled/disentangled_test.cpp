// Compares disentangled attention with its definition: lengths and head sizes on edges, and each
// term alone.
#include "core/kernels/disentangled/disentangled.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/disentangled/reference/disentangled.h"
#include "tests/core/kernels/disentangled/disentangled_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;

TEST(Disentangled, MatchesItsDefinitionAtEveryEdge) {
  for (const int64_t head_dim : {1, 15, 16, 20, 64})
    for (const int32_t length : {1, 3, 4, 5, 15, 16, 17, 33})
      for (const int64_t span : {2, 40}) {
        const testing::DisentangledProblem problem({length, 2, length + 1}, 3, head_dim, span);
        const auto want = reference::disentangled(problem.call, problem.rows);
        for (const Isa isa : available_isas())
          testing::expect_disentangled(testing::run_disentangled(problem.call, problem.rows, isa),
                                       want, 1e-5,
                                       fmt::format("{} head_dim {} length {} span {}", name_of(isa),
                                                   head_dim, length, span));
      }
}

TEST(Disentangled, EitherTermMayBeAbsentAndOutputsMayBeBf16) {
  const testing::DisentangledProblem problem({7, 19}, 2, 24, 8);
  for (const auto& [has_keys, has_queries] :
       {std::pair{true, false}, std::pair{false, true}, std::pair{false, false}}) {
    DisentangledCall call = problem.call;
    if (!has_keys) call.keys = {};
    if (!has_queries) call.queries = {};
    const auto want = reference::disentangled(call, problem.rows);
    const std::string what = fmt::format("keys {} queries {}", has_keys, has_queries);
    testing::expect_disentangled(testing::run_disentangled(call, problem.rows, best_isa()), want,
                                 1e-5, what);
    testing::expect_disentangled(
        testing::run_disentangled(call, problem.rows, best_isa(), DType::kBF16), want, 0x1p-8,
        what);
  }
}

TEST(Disentangled, BiasesAreWhatPositionsAddToTheScores) {
  const testing::DisentangledProblem problem({5, 17, 1}, 3, 20, 6);
  const int64_t keys = 18;
  const auto want = reference::disentangled_biases(problem.call, problem.rows, keys);
  for (const Isa isa : available_isas()) {
    std::vector<float> got(want.size(), 0.0f);
    DisentangledWorkspace workspace;
    problem.call.biases(got.data(), problem.rows, keys, workspace, {.threads = 2, .isa = isa});
    testing::expect_disentangled(got, want, 1e-5, std::string(name_of(isa)));
  }
}

TEST(Disentangled, NeitherThreadsNorNeighboursNorTheWorkspaceChangeABit) {
  const testing::DisentangledProblem problem({9, 30, 4}, 4, 16, 12);
  const std::vector<float> together =
      testing::run_disentangled(problem.call, problem.rows, best_isa());
  EXPECT_EQ(testing::run_disentangled(problem.call, problem.rows, best_isa(), DType::kF32, 1),
            together);
  DisentangledWorkspace workspace;
  for (const TextRows& text : problem.texts) {  // the long text's scratch serves the short one
    DisentangledCall alone = problem.call;
    alone.texts = {&text, 1};
    std::vector<float> out(together.size(), 0.0f);
    alone.run({.data = out.data()}, workspace, {.threads = 2, .isa = best_isa()});
    const int64_t width = problem.heads * problem.head_dim;
    for (int64_t i = 0; i < std::ssize(out); ++i) {
      const bool is_its_own = i >= text.first_row * width && i < text.end_row * width;
      ASSERT_EQ(out[static_cast<size_t>(i)], is_its_own ? together[static_cast<size_t>(i)] : 0.0f);
    }
  }
}

// A score far above the others takes all the weight, and nothing overflows.
TEST(Disentangled, ExtremeScoresStayFinite) {
  testing::DisentangledProblem problem({6}, 1, 16, 8);
  problem.call.scale = 1e4f;
  for (const float value : testing::run_disentangled(problem.call, problem.rows, best_isa()))
    EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace reprise::kernels
