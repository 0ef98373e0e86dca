#include "core/kernels/attention_map/attention_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/attention_map/cpu/map_scores.h"
#include "core/kernels/attention_map/row_groups.h"
#include "core/kernels/attention_map/row_keys.h"
#include "core/kernels/device/device_kernels.h"

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

// Turns `count` scores into softmax weights, in place. A masked score becomes 0; if all scores are
// masked, all weights are 0.
void softmax(float* scores, int64_t count) {
  const float m = count > 0 ? *std::max_element(scores, scores + count) : kMasked;
  float n = 0.0f;
  for (int64_t k = 0; k < count; ++k)
    n += scores[k] = scores[k] == kMasked ? 0.0f : std::exp(scores[k] - m);
  if (n > 0.0f)
    for (int64_t k = 0; k < count; ++k) scores[k] /= n;
}

struct MapCall {
  const kv::AttentionPlan& plan;
  int64_t layer;
  const QueryView& q;
  const AttentionParams& params;
  const float* bias;  // [heads, rows, keys], or null
  float* map;         // [heads, rows, keys]
  int64_t keys;

  [[nodiscard]] int64_t row_begin(int64_t head, int64_t row) const {
    return (head * plan.rows() + row) * keys;
  }
  [[nodiscard]] int64_t kv_head(int64_t head) const { return head / (q.heads / plan.kv_heads()); }
};

// Computes the weights of one row. product(run, t) returns the product of the row's query with key
// t of a run.
template <typename Product>
void finish_row(const MapCall& call, int64_t head, int64_t row, const Product& product) {
  const int64_t position = call.plan.row_positions[static_cast<size_t>(row)];
  const int64_t first = call.row_begin(head, row);
  float* scores = call.map + first;
  std::fill_n(scores, call.keys, kMasked);
  for_key_runs(call.plan, row, [&](const KeyRun& run) {
    for (int64_t t = 0; t < run.tokens; ++t) {
      const int64_t key_position = run.position + t, k = run.first_key + t;
      if (call.params.window > 0 && position - key_position >= call.params.window) continue;
      scores[k] = call.params.scale * product(run, t) +
                  alibi_of(call.params.alibi, head, key_position, position) +
                  (call.bias != nullptr ? call.bias[first + k] : 0.0f);
    }
  });
  softmax(scores, call.keys);
}

void compute_row(const MapCall& call, int64_t head, int64_t row) {
  const int64_t head_dim = call.plan.head_dim();
  const float* q = call.q.data + row * call.q.row_stride + head * head_dim;
  finish_row(call, head, row, [&](const KeyRun& run, int64_t t) {
    const int64_t element = run.offset + call.layer * run.cache->layer_stride +
                            call.kv_head(head) * run.cache->head_stride + t * head_dim;
    return dot(q, run.cache->keys, run.cache->dtype, element, head_dim);
  });
}

// Number of rows whose products q k^T are computed together, before the softmax of these rows.
constexpr int64_t kRowsTogether = 48;

struct Worker {
  std::vector<KeyRun> runs;
  cpu::MapScores scores;
  std::vector<float> products;  // [kRowsTogether, keys]
};

void compute_product(const MapCall& call, const RowGroup& group, int64_t head, Worker& worker,
                     Isa isa) {
  worker.runs.clear();
  for_key_runs(call.plan, group.longest_row,
               [&](const KeyRun& run) { worker.runs.push_back(run); });
  worker.scores.take_keys(worker.runs, call.layer, call.kv_head(head));
  worker.products.resize(static_cast<size_t>(kRowsTogether * call.keys));
  for (int64_t first = group.first_row; first < group.end_row; first += kRowsTogether) {
    const int64_t end = std::min<int64_t>(first + kRowsTogether, group.end_row);
    worker.scores.multiply(call.q, head, first, end, worker.products.data(), call.keys, isa);
    for (int64_t row = first; row < end; ++row) {
      const float* products = worker.products.data() + (row - first) * call.keys;
      finish_row(call, head, row,
                 [&](const KeyRun& run, int64_t t) { return products[run.first_key + t]; });
    }
  }
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
  if (DeviceKernels* device = device_kernels(context, "an attention map"))
    return device->attention_map(plan, layer, q, params, bias, map);
  const MapCall call = {.plan = plan,
                        .layer = layer,
                        .q = q,
                        .params = params,
                        .bias = bias,
                        .map = map,
                        .keys = most_keys(plan)};
  std::vector<RowGroup> groups;
  append_groups(plan, seen_keys(plan), 0, plan.rows(), groups);
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, context.threads)));
  for (const RowGroup& group : groups) {
    if (group.is_product())
      parallel_for(context, q.heads, [&](int64_t head, int worker) {
        compute_product(call, group, head, workers[static_cast<size_t>(worker)], context.isa);
      });
    else
      parallel_for(context, group.rows() * q.heads, [&](int64_t item, int) {
        compute_row(call, item / group.rows(), group.first_row + item % group.rows());
      });
  }
}

}  // namespace reprise::kernels
