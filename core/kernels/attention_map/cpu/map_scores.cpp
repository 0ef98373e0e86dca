#include "core/kernels/attention_map/cpu/map_scores.h"

#include <algorithm>
#include <vector>

#include "core/kernels/linear/cpu/linear_task.h"

namespace reprise::kernels::cpu {

void MapScores::take_keys(std::span<const KeyRun> runs, int64_t layer, int64_t head) {
  keys_ = runs.back().first_key + runs.back().tokens;
  head_dim_ = runs.front().cache->head_dim;
  const int64_t panels = (keys_ + 63) / 64;
  const size_t bytes = static_cast<size_t>(panels * head_dim_ * 64) * sizeof(float);
  if (panel_.bytes() < bytes) panel_ = AlignedBuffer(bytes);
  std::vector<float> key(static_cast<size_t>(head_dim_));
  for (const KeyRun& run : runs) {
    const int64_t element =
        run.offset + layer * run.cache->layer_stride + head * run.cache->head_stride;
    const size_t width = size_of(run.cache->dtype);
    const auto* from =
        static_cast<const char*>(run.cache->keys) + static_cast<size_t>(element) * width;
    for (int64_t t = 0; t < run.tokens; ++t) {
      convert(from + static_cast<size_t>(t * head_dim_) * width, run.cache->dtype, key.data(),
              DType::kF32, key.size());
      const int64_t k = run.first_key + t;
      float* column = panel_.as<float>() + k / 64 * head_dim_ * 64 + k % 64;
      for (int64_t c = 0; c < head_dim_; ++c) column[c * 64] = key[static_cast<size_t>(c)];
    }
  }
}

void MapScores::multiply(const QueryView& q, int64_t head, int64_t first_row, int64_t end_row,
                         float* scores, int64_t stride, Isa isa) {
  const size_t bytes = static_cast<size_t>(kLinearRows * head_dim_) * sizeof(float);
  if (queries_.bytes() < bytes) queries_ = AlignedBuffer(bytes);
  for (int64_t row = first_row; row < end_row; row += kLinearRows) {
    const int64_t rows = std::min<int64_t>(kLinearRows, end_row - row);
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(q.data + (row + r) * q.row_stride + head * head_dim_, head_dim_,
                  queries_.as<float>() + r * head_dim_);
    for (int64_t k = 0; k < keys_; k += 64) {
      const float* panel = panel_.as<float>() + k * head_dim_;
      linear_panel_f32({.panel = panel,
                        .dtype = DType::kF32,
                        .words = head_dim_,
                        .x = queries_.data(),
                        .rows = static_cast<int>(rows),
                        .outputs = static_cast<int>(std::min<int64_t>(64, keys_ - k)),
                        .out = scores + (row - first_row) * stride + k,
                        .out_dtype = DType::kF32,
                        .out_stride = stride,
                        .next_panel = panel,
                        .fetch = {.bytes = 0}},
                       isa);
    }
  }
}

}  // namespace reprise::kernels::cpu
