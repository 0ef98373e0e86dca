#include "core/kernels/attention/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace reprise::kernels::reference {
namespace {

double cache_element(const void* data, DType dtype, int64_t index) {
  return visit_dtype(dtype, [&](auto tag) {
    return static_cast<double>(static_cast<float>(static_cast<const decltype(tag)*>(data)[index]));
  });
}

double alibi_bias(const AlibiView& alibi, int64_t head, int64_t key_position,
                  int64_t query_position) {
  if (alibi.slopes.empty()) return 0.0;
  const float slope = alibi.slopes[static_cast<size_t>(head)];
  if (!alibi.rounded_to_bf16)
    return static_cast<double>(slope) * static_cast<double>(key_position - query_position);
  const auto rounded = [&](int64_t position) {
    return static_cast<double>(bf16(static_cast<float>(bf16(slope)) *
                                    static_cast<float>(bf16(static_cast<float>(position)))));
  };
  return static_cast<double>(alibi.factor) * (rounded(key_position) - rounded(query_position));
}

}  // namespace

ExactRows attention_with_errors(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                                const AttentionParams& params) {
  const int64_t head_dim = plan.head_dim(), group = q.heads / plan.kv_heads();
  ExactRows out{
      .outputs = std::vector<double>(static_cast<size_t>(plan.rows() * q.heads * head_dim), 0.0),
      .heads = std::vector<ExactHead>(static_cast<size_t>(plan.rows() * q.heads))};
  for (int64_t row = 0; row < plan.rows(); ++row) {
    const int64_t query_position = plan.row_positions[static_cast<size_t>(row)];
    for (int64_t head = 0; head < q.heads; ++head) {
      std::vector<double> scores;
      std::vector<double> values;       // [seen, head_dim]
      std::vector<double> moved;        // scale^2 sum_c (q_c k_c)^2 of each seen key
      std::vector<const void*> places;  // of each seen key
      for (const kv::WorkItem& item : plan.items) {
        if (row < item.first_row || row >= item.end_row) continue;
        const kv::Segment& segment = plan.segment_of(item);
        const kv::CacheView& cache = plan.cache_of(segment);
        for (int64_t t = 0; t < segment.tokens; ++t) {
          if (item.mask == kv::Mask::kCausal && t >= item.visible + (row - item.first_row))
            continue;
          const int64_t key_position = segment.first_position + t;
          if (params.window > 0 && query_position - key_position >= params.window) continue;
          const int64_t element =
              plan.block_offsets[static_cast<size_t>(
                  segment.first_block + (segment.skipped + t) / segment.block_tokens)] +
              layer * cache.layer_stride + head / group * cache.head_stride +
              (segment.skipped + t) % segment.block_tokens * head_dim;
          double s = 0.0, squares = 0.0;
          for (int64_t c = 0; c < head_dim; ++c) {
            const double product =
                static_cast<double>(q.data[row * q.row_stride + head * head_dim + c]) *
                cache_element(cache.keys, cache.dtype, element + c);
            s += product;
            squares += product * product;
            values.push_back(cache_element(cache.values, cache.dtype, element + c));
          }
          const auto scale = static_cast<double>(params.scale);
          moved.push_back(scale * scale * squares);
          places.push_back(static_cast<const char*>(cache.keys) +
                           element * static_cast<int64_t>(size_of(cache.dtype)));
          scores.push_back(s * static_cast<double>(params.scale) +
                           alibi_bias(params.alibi, head, key_position, query_position));
        }
      }
      if (scores.empty()) continue;
      const double m = *std::max_element(scores.begin(), scores.end());
      double n = 0.0;
      for (double& s : scores) n += s = std::exp(s - m);
      double* o = out.outputs.data() + (row * q.heads + head) * head_dim;
      // A key that a row sees several times is rounded to the same value each time. So its errors
      // add up like those of one key that has the sum of the weights.
      struct Seen {
        double weight = 0, v_squared = 0, moved = 0;
      };
      std::unordered_map<const void*, Seen> keys;
      for (size_t i = 0; i < scores.size(); ++i) {
        double v_squared = 0.0;
        for (int64_t c = 0; c < head_dim; ++c) {
          const double v = values[i * static_cast<size_t>(head_dim) + static_cast<size_t>(c)];
          o[c] += scores[i] / n * v;
          v_squared += v * v;
        }
        Seen& key = keys[places[i]];
        key = {.weight = key.weight + scores[i] / n, .v_squared = v_squared, .moved = moved[i]};
      }
      ExactHeadSums sums;
      for (const auto& [place, key] : keys) sums.add(key.weight, key.v_squared, key.moved);
      double norm_squared = 0.0;
      for (int64_t c = 0; c < head_dim; ++c) norm_squared += o[c] * o[c];
      out.heads[static_cast<size_t>(row * q.heads + head)] = sums.head(std::sqrt(norm_squared));
    }
  }
  return out;
}

std::vector<double> attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                              const AttentionParams& params) {
  return attention_with_errors(plan, layer, q, params).outputs;
}

}  // namespace reprise::kernels::reference
