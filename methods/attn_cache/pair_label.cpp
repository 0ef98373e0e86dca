#include "methods/attn_cache/pair_label.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

// Weights [keys] of one row of a stored map as f32.
void read_row(const kernels::MapView& view, int64_t head, int64_t row, std::span<float> out) {
  const int64_t at = head * view.head_stride + row * view.row_stride;
  if (view.row_scales != nullptr) {
    const float scale = view.row_scales[head * view.scale_head_stride + row];
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = scale * static_cast<const uint8_t*>(view.data)[at + static_cast<int64_t>(k)];
    return;
  }
  convert(static_cast<const char*>(view.data) + static_cast<size_t>(at) * size_of(view.dtype),
          view.dtype, out.data(), DType::kF32, out.size());
}

double map_distance(const MapStore& maps, const IndexEntry& a, const IndexEntry& b, int64_t rows) {
  const int64_t heads = maps.identity().format.heads;
  maps.check_layers(a.group, a.layer, a.layer + 1);
  maps.check_layers(b.group, b.layer, b.layer + 1);
  const kernels::MapView map_a = maps.map(a.group, a.layer), map_b = maps.map(b.group, b.layer);
  std::vector<float> row_a(static_cast<size_t>(rows)), row_b(row_a.size());
  double sum = 0.0;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row) {
      read_row(map_a, head, row, row_a);
      read_row(map_b, head, row, row_b);
      float row_sum = 0.0f;
      for (size_t k = 0; k < row_a.size(); ++k) row_sum += std::abs(row_a[k] - row_b[k]);
      sum += row_sum;
    }
  return sum / static_cast<double>(heads * rows);
}

}  // namespace

double pair_label(const MapStore& maps, const IndexEntry& a, const IndexEntry& b,
                  const LabelWeights& weights) {
  const int64_t tokens_a = maps.groups().at(static_cast<size_t>(a.group)).tokens;
  const int64_t tokens_b = maps.groups().at(static_cast<size_t>(b.group)).tokens;
  return weights.map * map_distance(maps, a, b, std::min(tokens_a, tokens_b)) +
         weights.length * static_cast<double>(std::abs(tokens_a - tokens_b));
}

void label_pairs(const MapStore& maps, std::span<const IndexEntry> entries,
                 const LabelWeights& weights, std::span<float> labels, const Context& context) {
  const int64_t n = std::ssize(entries);
  REPRISE_CHECK(std::ssize(labels) == n * n, "{} labels for {} samples", labels.size(), n);
  parallel_for(context, n * n, [&](int64_t pair, int) {
    const int64_t a = pair / n, b = pair % n;
    if (a < b)
      labels[static_cast<size_t>(pair)] = static_cast<float>(pair_label(
          maps, entries[static_cast<size_t>(a)], entries[static_cast<size_t>(b)], weights));
  });
}

}  // namespace reprise::attn_cache
