#include "core/kernels/attention_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/row_keys.h"

namespace reprise::kernels {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

float dot(const float* q, const void* keys, DType dtype, int64_t element, int64_t dim) {
  return visit_dtype(dtype, [&](auto zero) {
    const auto* k = static_cast<const decltype(zero)*>(keys) + element;
    float sum = 0.0f;
    for (int64_t c = 0; c < dim; ++c) sum += q[c] * static_cast<float>(k[c]);
    return sum;
  });
}

float alibi_of(const AlibiView& alibi, int64_t head, int64_t key_position, int64_t query_position) {
  if (alibi.slopes.empty()) return 0.0f;
  const float slope = alibi.slopes[static_cast<size_t>(head)];
  if (!alibi.rounded_to_bf16) return slope * static_cast<float>(key_position - query_position);
  const auto rounded = [&](int64_t position) {
    return static_cast<float>(bf16(static_cast<float>(bf16(slope)) *
                                   static_cast<float>(bf16(static_cast<float>(position)))));
  };
  return alibi.factor * (rounded(key_position) - rounded(query_position));
}

// Scores become weights; what was masked becomes 0, a row without keys stays 0.
void softmax(float* scores, int64_t count) {
  const float m = count > 0 ? *std::max_element(scores, scores + count) : kMasked;
  float n = 0.0f;
  for (int64_t k = 0; k < count; ++k)
    n += scores[k] = scores[k] == kMasked ? 0.0f : std::exp(scores[k] - m);
  if (n > 0.0f)
    for (int64_t k = 0; k < count; ++k) scores[k] /= n;
}

}  // namespace

int64_t keys_of(const kv::AttentionPlan& plan, int64_t row) {
  int64_t keys = 0;
  for (auto i = static_cast<size_t>(plan.row_begin[static_cast<size_t>(row)]);
       i < static_cast<size_t>(plan.row_begin[static_cast<size_t>(row) + 1]); ++i) {
    const kv::WorkItem& item = plan.items[static_cast<size_t>(plan.row_items[i])];
    keys += plan.segments[static_cast<size_t>(item.segment)].tokens;
  }
  return keys;
}

int64_t most_keys(const kv::AttentionPlan& plan) {
  int64_t keys = 0;
  for (int64_t row = 0; row < plan.rows(); ++row) keys = std::max(keys, keys_of(plan, row));
  return keys;
}

MapView contiguous_map(const void* data, DType dtype, int64_t heads, int64_t rows, int64_t keys) {
  return {.data = data,
          .dtype = dtype,
          .heads = heads,
          .rows = rows,
          .keys = keys,
          .head_stride = rows * keys,
          .row_stride = keys};
}

void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   const Context& context) {
  require_device(context.device, "an attention map");
  const int64_t keys = most_keys(plan), rows = plan.rows(), head_dim = plan.head_dim();
  const int64_t group = q.heads / plan.kv_heads();
  parallel_for(context, rows * q.heads, [&](int64_t item, int) {
    const int64_t head = item / rows, row = item % rows;
    const int64_t position = plan.row_positions[static_cast<size_t>(row)];
    float* scores = map + item * keys;
    std::fill_n(scores, keys, kMasked);
    for_key_runs(plan, row, [&](const KeyRun& run) {
      const int64_t element =
          run.offset + layer * run.cache->layer_stride + head / group * run.cache->head_stride;
      for (int64_t t = 0; t < run.tokens; ++t) {
        const int64_t key_position = run.position + t;
        if (params.window > 0 && position - key_position >= params.window) continue;
        const float s = dot(q.data + row * q.row_stride + head * head_dim, run.cache->keys,
                            run.cache->dtype, element + t * head_dim, head_dim);
        const int64_t k = run.first_key + t;
        scores[k] = params.scale * s + alibi_of(params.alibi, head, key_position, position) +
                    (bias != nullptr ? bias[item * keys + k] : 0.0f);
      }
    });
    softmax(scores, keys);
  });
}

}  // namespace reprise::kernels
