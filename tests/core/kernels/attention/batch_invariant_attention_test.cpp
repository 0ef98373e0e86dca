// With a batch-invariant context, a row of attention has the same bits whatever rows are computed
// beside it, of its own sequence or of others.
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/error.h"
#include "tests/core/kernels/attention/attention_checks.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using testing::Heads;
using testing::RandomCache;

// Tokens of the sequence whose rows are watched, and of another that is computed beside it.
constexpr int32_t kWatchedTokens = 270, kOtherTokens = 200, kOtherRows = 3;

struct Watched {
  Heads heads;
  const RandomCache& cache;
  const AttentionParams& params;
  const std::vector<float>& q;  // [kOtherRows + kWatchedTokens, heads * head_dim]

  [[nodiscard]] int64_t row_elements() const { return heads.heads * heads.head_dim; }

  // Rows of tokens [first, first + rows) of the watched sequence, after `others` rows of the other
  // one.
  [[nodiscard]] std::vector<float> rows(int32_t first, int32_t rows, int32_t others,
                                        const Context& context) const {
    kv::AttentionPlan plan;
    plan.begin(cache.view);
    int64_t block = 0;
    const auto read = [&](int32_t from, int32_t count) {
      const int32_t at = plan.rows();
      const int32_t segment =
          testing::add_segment(plan, cache, from + count, 0, [&] { return block++; });
      for (int32_t row = 0; row < count; ++row) testing::add_row(plan, from + row);
      plan.add_item({.segment = segment,
                     .first_row = at,
                     .end_row = at + count,
                     .mask = count > 1 ? kv::Mask::kCausal : kv::Mask::kNone,
                     .visible = count > 1 ? from + 1 : 0});
    };
    if (others > 0) read(kOtherTokens, others);
    block = cache.blocks / 2;
    read(first, rows);
    plan.finish();
    const float* begin = q.data() + (kOtherRows + first - others) * row_elements();
    std::vector<float> out(static_cast<size_t>((others + rows) * row_elements()));
    AttentionWorkspace workspace;
    attention(plan, /*layer=*/0,
              {.data = begin, .row_stride = row_elements(), .heads = heads.heads}, params,
              {.data = out.data()}, workspace, context);
    out.erase(out.begin(), out.begin() + others * row_elements());
    return out;
  }
};

// Number of values of the watched rows that change if they are computed `step` at a time beside
// another sequence, instead of all at once.
int64_t changed_values(const Watched& watched, int32_t step, const Context& context) {
  const std::vector<float> whole = watched.rows(0, kWatchedTokens, 0, context);
  int64_t changed = 0;
  for (int32_t first = 0; first < kWatchedTokens; first += step) {
    const std::vector<float> part = watched.rows(first, std::min(step, kWatchedTokens - first),
                                                 first % 2 * kOtherRows, context);
    for (size_t i = 0; i < part.size(); ++i)
      changed +=
          std::memcmp(&part[i], &whole[static_cast<size_t>(first * watched.row_elements()) + i],
                      sizeof(float)) != 0;
  }
  return changed;
}

template <typename Check>
void with_watched(DType dtype, const Heads& heads, int64_t block_tokens, bool has_alibi,
                  int64_t window, Check&& check) {
  const int64_t blocks = 2 * ((kWatchedTokens + block_tokens - 1) / block_tokens);
  const RandomCache cache(dtype, blocks, 1, heads.kv_heads, block_tokens, heads.head_dim, 1);
  AttentionParams params = testing::plain(heads.head_dim);
  params.window = window;
  std::vector<float> slopes(static_cast<size_t>(heads.heads), 0.25f);
  if (has_alibi) params.alibi.slopes = slopes;
  const std::vector<float> q =
      testing::random_queries((kOtherRows + kWatchedTokens) * heads.heads * heads.head_dim, 2);
  check(Watched{.heads = heads, .cache = cache, .params = params, .q = q});
}

TEST(BatchInvariantAttention, RowsHaveTheSameBitsInAnyStep) {
  for (const DType dtype : testing::kAllDtypes)
    for (const Heads& heads : {Heads{4, 2, 64}, Heads{5, 1, 20}, Heads{2, 1, 128}})
      for (const auto& [block_tokens, has_alibi, window] :
           {std::tuple{16, false, 0}, {13, false, 150}, {1000, true, 0}})
        with_watched(dtype, heads, block_tokens, has_alibi, window, [&](const Watched& watched) {
          for (const Isa isa : available_isas())
            for (const int32_t step : {1, 13, 129}) {
              const Context context{.threads = 2, .isa = isa, .is_batch_invariant = true};
              EXPECT_EQ(changed_values(watched, step, context), 0)
                  << name_of(isa) << " " << name_of(dtype) << " heads of " << heads.head_dim
                  << " blocks of " << block_tokens << " window " << window << " steps of " << step;
            }
        });
}

// Many rows keep their bits in any context: keys that a row does not see, but rows beside it do,
// add nothing to it.
TEST(BatchInvariantAttention, StepsOfManyRowsChangeNoBits) {
  for (const DType dtype : testing::kAllDtypes)
    with_watched(dtype, {4, 2, 64}, 16, false, 0, [&](const Watched& watched) {
      for (const Isa isa : available_isas())
        EXPECT_EQ(changed_values(watched, 45, {.threads = 2, .isa = isa}), 0)
            << name_of(isa) << " " << name_of(dtype);
    });
}

// Without a batch-invariant context, few rows are computed by other kernels than many.
TEST(BatchInvariantAttention, StepsOtherwiseChangeBits) {
  with_watched(DType::kBF16, {4, 2, 64}, 16, false, 0, [&](const Watched& watched) {
    for (const Isa isa : available_isas())
      EXPECT_GT(changed_values(watched, 1, {.threads = 2, .isa = isa}), 0) << name_of(isa);
  });
}

// Without a batch-invariant context, a long sequence is split if a step has little else to compute.
TEST(BatchInvariantAttention, ReadsLongSequencesInOnePart) {
  const RandomCache cache(DType::kBF16, 1, 1, 1, 5000, 8, 1);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 4999, 1);
  AttentionSchedule schedule;
  for (const bool is_invariant : {false, true}) {
    schedule.build(plan, 1, testing::plain(8), {.is_batch_invariant = is_invariant});
    EXPECT_EQ(schedule.parts.size() == 1, is_invariant) << schedule.parts.size();
  }
}

TEST(BatchInvariantAttention, RefusesRowsThatReadSeveralItems) {
  const RandomCache cache(DType::kF32, 4, 1, 1, 16, 8, 1);
  int64_t block = 0;
  const kv::AttentionPlan plan = testing::prefix_plan(cache, 16, 16, 2, [&] { return block++; });
  AttentionSchedule schedule;
  const AttentionParams params = testing::plain(8);
  EXPECT_NO_THROW(schedule.build(plan, 1, params, {}));
  EXPECT_THROW(schedule.build(plan, 1, params, {.is_batch_invariant = true}), Error);
}

}  // namespace
}  // namespace reprise::kernels
