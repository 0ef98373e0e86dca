// Compares the CPU's attention in every instruction set with the definition.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/attention/explained.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

inline constexpr DType kAllDtypes[] = {DType::kF32, DType::kBF16, DType::kF16};

struct Heads {
  int64_t heads, kv_heads, head_dim;
};

inline std::vector<float> run(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                              const AttentionParams& params, Isa isa, DType out_dtype,
                              int threads) {
  const int64_t count = plan.rows() * q.heads * plan.head_dim();
  Tensor out(out_dtype, {count});
  AttentionWorkspace workspace;
  attention(plan, layer, q, params, {.data = out.data(), .dtype = out_dtype}, workspace,
            {.threads = threads, .isa = isa});
  std::vector<float> result(static_cast<size_t>(count));
  convert(out.data(), out_dtype, result.data(), DType::kF32, result.size());
  return result;
}

// Compares every instruction set with the reference.
inline void check_all_isas(const kv::AttentionPlan& plan, const Heads& heads,
                           const AttentionParams& params, uint64_t seed, const std::string& what,
                           DType out_dtype = DType::kF32, int64_t layer = 0) {
  // The row stride is larger than a row, as where queries sit inside the fused qkv projection.
  const int64_t stride = (heads.heads + 2 * heads.kv_heads) * heads.head_dim;
  const std::vector<float> q = random_queries(std::max<int64_t>(1, plan.rows()) * stride, seed);
  const QueryView view{.data = q.data(), .row_stride = stride, .heads = heads.heads};
  const auto want = reference::attention_with_errors(plan, layer, view, params);
  for (Isa isa : reprise::testing::available_isas())
    expect_explained(run(plan, layer, view, params, isa, out_dtype, 2), want,
                     cpu_rounding(plan, isa, out_dtype),
                     what + " isa " + std::string(name_of(isa)) + " kv " +
                         std::string(name_of(plan.caches[0].dtype)));
}

inline AttentionParams plain(int64_t head_dim) {
  return {.scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

// Attention over one cache of `blocks` blocks against the reference: ranges of rows share segments,
// and each row has a segment of its own. pick(low, high) draws a number.
template <typename Pick>
void check_random_plan(Pick&& pick, uint64_t seed, int blocks = 64,
                       kv::Reduction reduction = kv::Reduction::kMerge) {
  // With many kv heads, blocks are short and rows are few: the kernel reads such heads together.
  const bool has_many_heads = pick(0, 3) == 0;
  const int64_t kv_heads = has_many_heads ? pick(16, 40) : pick(1, 3);
  const int64_t group = has_many_heads ? 1 : pick(1, 9), head_dim = 8 * pick(1, 17);
  const Heads heads{kv_heads * group, kv_heads, head_dim};
  const DType dtype = kAllDtypes[pick(0, 2)];
  const int block_tokens = has_many_heads    ? 16 * pick(1, 3)
                           : pick(0, 1) == 0 ? pick(1, 40)
                                             : 16 * pick(1, 12);
  const RandomCache cache(dtype, blocks, 1, kv_heads, block_tokens, head_dim, seed);
  const auto next_block = [&] { return static_cast<int64_t>(pick(0, blocks - 1)); };
  // Skips tokens at the start of some segments: a multiple of 8 of them, or any number.
  const auto skip_some = [&](kv::Segment& segment) {
    if (pick(0, 1) == 0) return;
    const int skipped = pick(0, std::min(segment.tokens, 200));
    segment.skipped = pick(0, 1) == 0 ? skipped : skipped / 8 * 8;
    segment.tokens -= segment.skipped;
  };
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  const int rows = has_many_heads ? pick(1, 12) : pick(1, 70);
  for (int row = 0; row < rows; ++row) add_row(plan, 500 + row);
  for (int segments = pick(1, 6); segments > 0; --segments) {  // shared by a random range of rows
    const int first = pick(0, rows - 1), end = pick(first + 1, rows);
    const int32_t id = add_segment(plan, cache, pick(0, 300), pick(0, 90), next_block);
    const bool causal = pick(0, 3) == 0;
    skip_some(plan.segments.back());
    plan.items.push_back({.segment = id,
                          .first_row = first,
                          .end_row = end,
                          .mask = causal ? kv::Mask::kCausal : kv::Mask::kNone,
                          .visible = causal ? pick(-2, 250) : 0});
  }
  for (int row = 0; row < rows;
       ++row)  // and a private one for each row, so that every row sees a key
    plan.items.push_back({.segment = add_segment(plan, cache, pick(1, 20), 480, next_block),
                          .first_row = row,
                          .end_row = row + 1});
  plan.finish();
  plan.reduction = reduction;
  AttentionParams params = plain(head_dim);
  if (pick(0, 2) == 0) params.window = pick(1, 600);
  std::vector<float> slopes(static_cast<size_t>(heads.heads));
  if (pick(0, 3) == 0) {
    for (float& slope : slopes) slope = static_cast<float>(pick(0, 64)) / 64.0f;
    params.alibi = {.slopes = slopes, .rounded_to_bf16 = pick(0, 1) == 1, .factor = params.scale};
  }
  const DType out_dtype = pick(0, 2) == 0 ? DType::kBF16 : DType::kF32;
  check_all_isas(plan, heads, params, seed, "random plan", out_dtype);
}

}  // namespace reprise::kernels::testing
