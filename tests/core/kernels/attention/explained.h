// Compares the CPU's attention with the definition: each head may be off by the error that rounding
// explains.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/cpu.h"
#include "core/kernels/attention/reference/attention.h"
#include "core/kernels/attention/rounding.h"

namespace reprise::kernels::testing {

// The roundings of CPU kernels. With bf16 keys, AVX512-BF16 multiplies queries and weights in bf16.
// All other arithmetic is f32.
inline Rounding cpu_rounding(const kv::AttentionPlan& plan, Isa isa, DType out = DType::kF32) {
  const double u = epsilon_of(DType::kBF16) / 2;
  bool is_bf16 = false;
  for (const kv::CacheView& cache : plan.caches)
    is_bf16 = is_bf16 || (cache.dtype == DType::kBF16 && has_bf16_dot(isa));
  return {.queries = is_bf16 ? u : 0.0,
          .weights = is_bf16 ? u : 0.0,
          .outputs = out == DType::kBF16 ? u : 0.0};
}

// The largest || o - o' || of a head. The f32 part is for unit-normal values: queries, scores and
// weights each carry a few roundings of 2^-24, relative to sums of head_dim terms (so scores reach
// ~sqrt(head_dim)); 2^-16 an element leaves an order of magnitude to spare.
inline double head_bound(const ExactHead& head, const Rounding& rounding, int64_t head_dim) {
  const double of_sums = 0x1p-16 * std::sqrt(static_cast<double>(head_dim));
  return of_sums + (head.weight_keys > 0 ? rounding_bound(head, rounding, head_dim) : 0.0);
}

inline void expect_explained(const std::vector<float>& got, const reference::ExactRows& want,
                             const Rounding& rounding, const std::string& what) {
  ASSERT_EQ(got.size(), want.outputs.size()) << what;
  if (want.heads.empty()) return;
  const size_t head_dim = got.size() / want.heads.size();
  for (size_t h = 0; h < want.heads.size(); ++h) {
    double squares = 0.0;
    for (size_t i = h * head_dim; i < (h + 1) * head_dim; ++i) {
      ASSERT_FALSE(std::isnan(got[i])) << what << " element " << i;
      squares += std::pow(static_cast<double>(got[i]) - want.outputs[i], 2);
    }
    ASSERT_LE(std::sqrt(squares),
              head_bound(want.heads[h], rounding, static_cast<int64_t>(head_dim)))
        << what << " head " << h << " of all rows";
  }
}

}  // namespace reprise::kernels::testing
