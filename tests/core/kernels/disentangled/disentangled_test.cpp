// Disentangled attention against its definition: lengths and head sizes on edges, each term alone.
#include "core/kernels/disentangled/disentangled.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/disentangled/reference/disentangled.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;

// Texts of these lengths, one after the other, in rows that hold queries, keys and values.
struct Problem {
  Problem(std::vector<int32_t> lengths, int64_t head_count, int64_t dim, int64_t span)
      : heads(head_count),
        head_dim(dim),
        longest(*std::max_element(lengths.begin(), lengths.end())) {
    for (const int32_t length : lengths) {
      texts.push_back({rows, rows + length});
      rows += length;
    }
    row_stride = 3 * heads * head_dim + 5;
    values = random_values((rows + 1) * row_stride, 1);
    const int64_t count = heads * head_dim * 2 * span + PositionVectors::kReadable;
    keys = random_values(count, 2);
    queries = random_values(count, 3);
    for (int64_t d = 1 - longest; d < longest; ++d)
      buckets.push_back(static_cast<int32_t>(std::clamp(d + span, int64_t{0}, 2 * span - 1)));
    call = {.texts = texts,
            .q = values.data(),
            .k = values.data() + heads * head_dim,
            .v = values.data() + 2 * heads * head_dim,
            .row_stride = row_stride,
            .heads = heads,
            .head_dim = head_dim,
            .scale = 0.6f / std::sqrt(static_cast<float>(head_dim)),
            .keys = {.data = keys.data(), .stride = 2 * span},
            .queries = {.data = queries.data(), .stride = 2 * span},
            .buckets = buckets};
  }

  int64_t heads, head_dim, longest, row_stride = 0;
  int32_t rows = 0;
  std::vector<TextRows> texts;
  std::vector<float> values, keys, queries;
  std::vector<int32_t> buckets;
  DisentangledCall call;
};

std::vector<float> run(const DisentangledCall& call, int64_t rows, Isa isa,
                       DType dtype = DType::kF32, int threads = 2) {
  Tensor out(dtype, {rows, call.heads * call.head_dim});
  DisentangledWorkspace workspace;
  call.run({.data = out.data(), .dtype = dtype}, workspace, {.threads = threads, .isa = isa});
  return reprise::testing::values_of(out);
}

// Scores are sums of three products of head_dim numbers, at most some 20 in magnitude here, and an
// error in one is one in its weight.
void expect_near(const std::vector<float>& got, const std::vector<double>& want, double unit,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], unit * (1 + std::abs(want[i]))) << what << " element " << i;
}

TEST(Disentangled, MatchesItsDefinitionAtEveryEdge) {
  for (const int64_t head_dim : {1, 15, 16, 20, 64})
    for (const int32_t length : {1, 3, 4, 5, 15, 16, 17, 33})
      for (const int64_t span : {2, 40}) {
        const Problem problem({length, 2, length + 1}, 3, head_dim, span);
        const auto want = reference::disentangled(problem.call, problem.rows);
        for (const Isa isa : available_isas())
          expect_near(run(problem.call, problem.rows, isa), want, 1e-5,
                      fmt::format("{} head_dim {} length {} span {}", name_of(isa), head_dim,
                                  length, span));
      }
}

TEST(Disentangled, EitherTermMayBeAbsentAndOutputsMayBeBf16) {
  const Problem problem({7, 19}, 2, 24, 8);
  for (const auto& [has_keys, has_queries] :
       {std::pair{true, false}, std::pair{false, true}, std::pair{false, false}}) {
    DisentangledCall call = problem.call;
    if (!has_keys) call.keys = {};
    if (!has_queries) call.queries = {};
    const auto want = reference::disentangled(call, problem.rows);
    const std::string what = fmt::format("keys {} queries {}", has_keys, has_queries);
    expect_near(run(call, problem.rows, best_isa()), want, 1e-5, what);
    expect_near(run(call, problem.rows, best_isa(), DType::kBF16), want, 0x1p-8, what);
  }
}

TEST(Disentangled, BiasesAreWhatPositionsAddToTheScores) {
  const Problem problem({5, 17, 1}, 3, 20, 6);
  const int64_t keys = 18;
  const auto want = reference::disentangled_biases(problem.call, problem.rows, keys);
  for (const Isa isa : available_isas()) {
    std::vector<float> got(want.size(), 0.0f);
    DisentangledWorkspace workspace;
    problem.call.biases(got.data(), problem.rows, keys, workspace, {.threads = 2, .isa = isa});
    expect_near(got, want, 1e-5, std::string(name_of(isa)));
  }
}

TEST(Disentangled, NeitherThreadsNorNeighboursNorTheWorkspaceChangeABit) {
  const Problem problem({9, 30, 4}, 4, 16, 12);
  const std::vector<float> together = run(problem.call, problem.rows, best_isa());
  EXPECT_EQ(run(problem.call, problem.rows, best_isa(), DType::kF32, 1), together);
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
  Problem problem({6}, 1, 16, 8);
  problem.call.scale = 1e4f;
  for (const float value : run(problem.call, problem.rows, best_isa()))
    EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace reprise::kernels
