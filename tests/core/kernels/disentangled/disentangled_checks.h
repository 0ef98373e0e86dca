// Compares disentangled attention of texts of given lengths with its definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/disentangled/disentangled.h"
#include "core/kernels/disentangled/reference/disentangled.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

// Texts of the given lengths, one after the other, in rows that hold queries, keys and values.
struct DisentangledProblem {
  DisentangledProblem(std::vector<int32_t> lengths, int64_t head_count, int64_t dim, int64_t span)
      : heads(head_count),
        head_dim(dim),
        longest(*std::max_element(lengths.begin(), lengths.end())) {
    for (const int32_t length : lengths) {
      texts.push_back({rows, rows + length});
      rows += length;
    }
    row_stride = 3 * heads * head_dim + 5;
    values = reprise::testing::random_values((rows + 1) * row_stride, 1);
    const int64_t count = heads * head_dim * 2 * span + PositionVectors::kReadable;
    keys = reprise::testing::random_values(count, 2);
    queries = reprise::testing::random_values(count, 3);
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

inline std::vector<float> run_disentangled(const DisentangledCall& call, int64_t rows, Isa isa,
                                           DType dtype = DType::kF32, int threads = 2) {
  Tensor out(dtype, {rows, call.heads * call.head_dim});
  DisentangledWorkspace workspace;
  call.run({.data = out.data(), .dtype = dtype}, workspace, {.threads = threads, .isa = isa});
  return reprise::testing::values_of(out);
}

// Expects an error of at most `unit` (1 + |want|). Scores are sums of three products of head_dim
// numbers and at most some 20 in magnitude; an absolute error in a score is the same relative error
// in its weight.
inline void expect_disentangled(const std::vector<float>& got, const std::vector<double>& want,
                                double unit, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], unit * (1 + std::abs(want[i]))) << what << " element " << i;
}

}  // namespace reprise::kernels::testing
