// Caches, queries and plans for the attention tests and benchmarks, made from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/device/tensor.h"
#include "core/kernels/attention/attention.h"

namespace reprise::kernels::testing {

// Fills with normal values. They repeat after kPeriod values, because drawing the gigabytes of a
// large benchmark would take longer than measuring it. kPeriod is prime, so that no two blocks are
// alike.
template <typename T>
void fill_normal(T* values, int64_t count, std::mt19937_64& random) {
  constexpr int64_t kPeriod = 1'000'003;
  std::normal_distribution<float> normal;
  const int64_t drawn = std::min(count, kPeriod);
  for (int64_t i = 0; i < drawn; ++i) values[i] = T(normal(random));
  for (int64_t i = drawn; i < count; i += kPeriod)
    std::copy_n(values, std::min(kPeriod, count - i), values + i);
}

// A pool of blocks with random contents; slots are irrelevant to attention and left 0.
struct RandomCache {
  Tensor keys, values;
  kv::CacheView view;
  int64_t blocks, block_tokens;
  int64_t block_stride;  // elements between two blocks

  RandomCache(DType dtype, int64_t num_blocks, int64_t layers, int64_t kv_heads,
              int64_t tokens_per_block, int64_t head_dim, uint64_t seed)
      : keys(dtype, {num_blocks, layers * kv_heads, tokens_per_block, head_dim}),
        values(dtype, {num_blocks, layers * kv_heads, tokens_per_block, head_dim}),
        blocks(num_blocks),
        block_tokens(tokens_per_block),
        block_stride(layers * kv_heads * tokens_per_block * head_dim) {
    std::mt19937_64 random(seed);
    for (Tensor* tensor : {&keys, &values})
      visit_dtype(dtype, [&](auto tag) {
        fill_normal(tensor->as<decltype(tag)>(), tensor->elements(), random);
      });
    view = {.keys = keys.data(),
            .values = values.data(),
            .dtype = dtype,
            .device = Device::kCpu,
            .layer_stride = kv_heads * tokens_per_block * head_dim,
            .head_stride = tokens_per_block * head_dim,
            .kv_heads = kv_heads,
            .head_dim = head_dim};
  }
  // Orders the same memory as [layers, blocks, ...] instead of [blocks, layers, ...].
  void put_layers_first() {
    block_stride = view.layer_stride;
    view.layer_stride *= blocks;
  }
  [[nodiscard]] int64_t offset_of(int64_t block) const { return block * block_stride; }
};

inline std::vector<float> random_queries(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> q(static_cast<size_t>(count));
  for (float& value : q) value = normal(random);
  return q;
}

// Appends a segment of `tokens` tokens, in blocks that `next_block` chooses. Returns its index.
template <typename NextBlock>
int32_t add_segment(kv::AttentionPlan& plan, const RandomCache& cache, int32_t tokens,
                    int32_t first_position, NextBlock&& next_block) {
  const auto first_block = static_cast<int32_t>(plan.block_offsets.size());
  for (int64_t t = 0; t < tokens; t += cache.block_tokens)
    plan.block_offsets.push_back(cache.offset_of(next_block()));
  plan.segments.push_back({.first_block = first_block,
                           .block_tokens = static_cast<int32_t>(cache.block_tokens),
                           .tokens = tokens,
                           .first_position = first_position});
  return static_cast<int32_t>(plan.segments.size()) - 1;
}

inline void add_row(kv::AttentionPlan& plan, int32_t position) {
  plan.row_positions.push_back(position);
  plan.row_lengths.push_back(position + 1);
  plan.row_slots.push_back(0);
}

// A plan with `rows` new tokens after `past` cached ones, all in one contiguous segment: prefill,
// or decode if rows = 1.
inline kv::AttentionPlan causal_plan(const RandomCache& cache, int32_t past, int32_t rows) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  int64_t block = 0;
  const int32_t segment = add_segment(plan, cache, past + rows, 0, [&] { return block++; });
  for (int32_t row = 0; row < rows; ++row) add_row(plan, past + row);
  plan.items.push_back({.segment = segment,
                        .first_row = 0,
                        .end_row = rows,
                        .mask = kv::Mask::kCausal,
                        .visible = past + 1});
  plan.finish();
  return plan;
}

// A plan with one new token for each of `rows` sequences. All rows read one segment of `prefix`
// tokens; each row also reads a segment of its own with `own` tokens. `next_block` chooses the
// blocks.
template <typename NextBlock>
kv::AttentionPlan prefix_plan(const RandomCache& cache, int32_t prefix, int32_t own, int32_t rows,
                              NextBlock&& next_block) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t row = 0; row < rows; ++row) add_row(plan, prefix + own);
  plan.items.push_back({.segment = add_segment(plan, cache, prefix, 0, next_block),
                        .first_row = 0,
                        .end_row = rows});
  for (int32_t row = 0; row < rows; ++row)
    plan.items.push_back({.segment = add_segment(plan, cache, own, prefix, next_block),
                          .first_row = row,
                          .end_row = row + 1});
  plan.finish();
  return plan;
}

// A plan with up to 40 rows and with segments of random caches, each read by a random range of
// rows, masked or not. Some rows may read nothing. pick(low, high) draws a number.
template <typename Pick>
kv::AttentionPlan random_plan_over(std::span<const RandomCache> caches, Pick&& pick) {
  kv::AttentionPlan plan;
  plan.begin(caches[0].view);
  for (size_t i = 1; i < caches.size(); ++i) plan.add_cache(caches[i].view);
  const int rows = pick(1, 40);
  for (int row = 0; row < rows; ++row) add_row(plan, 400 + row);
  for (int segments = pick(2, 8); segments > 0; --segments) {
    const int cache = pick(0, static_cast<int>(caches.size()) - 1);
    const int32_t id = add_segment(plan, caches[static_cast<size_t>(cache)], pick(0, 260),
                                   pick(0, 90), [&] { return static_cast<int64_t>(pick(0, 15)); });
    plan.segments.back().cache = cache;
    const int first = pick(0, rows - 1), end = pick(first + 1, rows);
    const bool causal = pick(0, 2) == 0;
    plan.items.push_back({.segment = id,
                          .first_row = first,
                          .end_row = end,
                          .mask = causal ? kv::Mask::kCausal : kv::Mask::kNone,
                          .visible = causal ? pick(-2, 250) : 0});
  }
  plan.finish();
  return plan;
}

}  // namespace reprise::kernels::testing
