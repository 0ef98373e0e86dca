#include "core/kernels/attention_map/reference/attention_map.h"

#include <algorithm>
#include <cmath>

namespace reprise::kernels::reference {
namespace {

double element_of(const void* data, DType dtype, int64_t index) {
  return visit_dtype(dtype, [&](auto tag) {
    return static_cast<double>(static_cast<float>(static_cast<const decltype(tag)*>(data)[index]));
  });
}

double weight_of(const MapView& map, int64_t head, int64_t row, int64_t key) {
  const int64_t at = head * map.head_stride + row * map.row_stride + key;
  if (map.row_scales == nullptr) return element_of(map.data, map.dtype, at);
  return static_cast<double>(map.row_scales[head * map.scale_head_stride + row]) *
         static_cast<const uint8_t*>(map.data)[at];
}

// One key of a row: its number, its position, and its element (layer 0, head 0) in its cache.
struct Key {
  int64_t number, position, element;
  const kv::CacheView* cache;
};
std::vector<Key> visible_keys(const kv::AttentionPlan& plan, int64_t row) {
  std::vector<Key> keys;
  int64_t before = 0;
  for (const kv::WorkItem& item : plan.items) {
    if (row < item.first_row || row >= item.end_row) continue;
    const kv::Segment& segment = plan.segment_of(item);
    const kv::CacheView& cache = plan.cache_of(segment);
    for (int64_t t = 0; t < segment.tokens; ++t) {
      if (item.mask == kv::Mask::kCausal && t >= item.visible + (row - item.first_row)) continue;
      const int64_t at = segment.skipped + t;
      keys.push_back({before + t, segment.first_position + t,
                      plan.block_offsets[static_cast<size_t>(segment.first_block +
                                                             at / segment.block_tokens)] +
                          at % segment.block_tokens * cache.head_dim,
                      &cache});
    }
    before += segment.tokens;
  }
  return keys;
}

double alibi_of(const AlibiView& alibi, int64_t head, int64_t key, int64_t query) {
  if (alibi.slopes.empty()) return 0.0;
  const float slope = alibi.slopes[static_cast<size_t>(head)];
  if (!alibi.rounded_to_bf16) return static_cast<double>(slope) * static_cast<double>(key - query);
  const auto rounded = [&](int64_t position) {
    return static_cast<double>(bf16(static_cast<float>(bf16(slope)) *
                                    static_cast<float>(bf16(static_cast<float>(position)))));
  };
  return static_cast<double>(alibi.factor) * (rounded(key) - rounded(query));
}

}  // namespace

std::vector<double> attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                                  const AttentionParams& params, const float* bias) {
  const int64_t head_dim = plan.head_dim(), group = q.heads / plan.kv_heads();
  const int64_t keys = most_keys(plan), rows = plan.rows();
  std::vector<double> map(static_cast<size_t>(q.heads * rows * keys), 0.0);
  for (int64_t head = 0; head < q.heads; ++head)
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t query = plan.row_positions[static_cast<size_t>(row)];
      const int64_t first = (head * rows + row) * keys;
      std::vector<std::pair<int64_t, double>> scores;
      for (const Key& key : visible_keys(plan, row)) {
        if (params.window > 0 && query - key.position >= params.window) continue;
        const kv::CacheView& cache = *key.cache;
        const int64_t element =
            key.element + layer * cache.layer_stride + head / group * cache.head_stride;
        double s = 0.0;
        for (int64_t c = 0; c < head_dim; ++c)
          s += static_cast<double>(q.data[row * q.row_stride + head * head_dim + c]) *
               element_of(cache.keys, cache.dtype, element + c);
        s = s * static_cast<double>(params.scale) +
            alibi_of(params.alibi, head, key.position, query);
        if (bias != nullptr) s += static_cast<double>(bias[first + key.number]);
        scores.emplace_back(key.number, s);
      }
      double m = -INFINITY, n = 0.0;
      for (const auto& [key, s] : scores) m = std::max(m, s);
      for (const auto& [key, s] : scores) n += std::exp(s - m);
      for (const auto& [key, s] : scores)
        map[static_cast<size_t>(first + key)] = std::exp(s - m) / n;
    }
  return map;
}

std::vector<double> apply_map(const kv::AttentionPlan& plan, int64_t layer,
                              std::span<const RowMap> maps, int64_t heads) {
  const int64_t head_dim = plan.head_dim(), group = heads / plan.kv_heads();
  std::vector<double> out(static_cast<size_t>(plan.rows() * heads * head_dim), 0.0);
  for (const RowMap& part : maps)
    for (int64_t row = 0; row < part.map.rows; ++row)
      for (int64_t head = 0; head < heads; ++head)
        for (const Key& key : visible_keys(plan, part.first_row + row)) {
          const double weight = weight_of(part.map, head, row, key.number);
          const kv::CacheView& cache = *key.cache;
          const int64_t element =
              key.element + layer * cache.layer_stride + head / group * cache.head_stride;
          for (int64_t c = 0; c < head_dim; ++c)
            out[static_cast<size_t>(((part.first_row + row) * heads + head) * head_dim + c)] +=
                weight * element_of(cache.values, cache.dtype, element + c);
        }
  return out;
}

}  // namespace reprise::kernels::reference
