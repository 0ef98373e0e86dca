// Pools hidden states of a prompt into the input of a projector.
#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "methods/attn_cache/projector.h"

namespace reprise::attn_cache {
namespace {

constexpr int64_t kMostPooledRows = 128;  // as in the released code

// Number of rows that are pooled into one: 2, doubled until the image has at most kMostPooledRows
// rows. Each pooling drops an odd last row, and so does this division.
int64_t rows_together(int64_t tokens) {
  int64_t together = 2;
  for (int64_t rows = tokens / 2; rows > kMostPooledRows; rows /= 2) together *= 2;
  return together;
}

template <typename T>
void mean_of_parts(const T* hidden, int64_t tokens, int64_t cols, int64_t parts, float* x) {
  for (int64_t part = 0; part < parts; ++part) {
    // The parts of a prompt are those of adaptive pooling: none is empty, and neighbouring parts
    // overlap if `tokens` is no multiple of `parts`.
    const int64_t first = part * tokens / parts, end = ((part + 1) * tokens + parts - 1) / parts;
    float* mean = x + part * cols;
    std::fill_n(mean, cols, 0.0f);
    for (int64_t t = first; t < end; ++t)
      for (int64_t c = 0; c < cols; ++c) mean[c] += static_cast<float>(hidden[t * cols + c]);
    const float share = 1.0f / static_cast<float>(end - first);
    for (int64_t c = 0; c < cols; ++c) mean[c] *= share;
  }
}

// The image has padded_tokens rows: the prompt's rows come last, and the rows before them are
// zeros.
template <typename T>
void maximum_of_tiles(const T* hidden, int64_t tokens, int64_t padded_tokens, int64_t cols,
                      int64_t rows, float* x) {
  const int64_t together = rows_together(padded_tokens), pooled_cols = cols / 2;
  const int64_t padding = padded_tokens - tokens;
  for (int64_t pooled = 0; pooled < rows; ++pooled) {
    float* row = x + pooled * pooled_cols;
    const int64_t first = pooled * together, end = first + together;
    std::fill_n(row, pooled_cols, first < padding ? 0.0f : -std::numeric_limits<float>::infinity());
    for (int64_t t = std::max(first, padding); t < end; ++t)
      for (int64_t c = 0; c < 2 * pooled_cols; ++c)
        row[c / 2] = std::max(row[c / 2], static_cast<float>(hidden[(t - padding) * cols + c]));
  }
}

}  // namespace

ProjectorShape mlp_shape(int64_t hidden, int64_t pooled_rows, int64_t width, int64_t features) {
  if (hidden < 1 || pooled_rows < 1 || width < 1 || features < 1)
    raise("a projector of {} hidden values, {} pooled rows, {} and {} features: all are 1 or more",
          hidden, pooled_rows, width, features);
  return {.kind = ProjectorKind::kMlp,
          .hidden = hidden,
          .pooled_rows = pooled_rows,
          .width = width,
          .features = features};
}

ProjectorShape pooled_linear_shape(int64_t hidden, int64_t tokens, int64_t width,
                                   int64_t features) {
  if (hidden < 2 || tokens < 2 || width < 1 || features < 1)
    raise(
        "a pooled_linear projector of {} hidden values and {} tokens, {} and {} features: it pools "
        "2 x 2 values",
        hidden, tokens, width, features);
  return {.kind = ProjectorKind::kPooledLinear,
          .hidden = hidden,
          .pooled_rows = tokens / rows_together(tokens),
          .tokens = tokens,
          .width = width,
          .features = features};
}

ProjectorShape raw_shape(int64_t hidden, int64_t pooled_rows) {
  if (hidden < 1 || pooled_rows < 1)
    raise("a raw projector of {} hidden values and {} pooled rows: both are 1 or more", hidden,
          pooled_rows);
  if (pooled_rows > kMostFeatures / hidden)
    raise(
        "a raw projector of {} pooled rows of {} hidden values has {} features, and {} at most are "
        "stored: give fewer pooled_rows",
        pooled_rows, hidden, pooled_rows * hidden, kMostFeatures);
  return {.kind = ProjectorKind::kRaw,
          .hidden = hidden,
          .pooled_rows = pooled_rows,
          .width = 0,
          .features = pooled_rows * hidden};
}

void pool_hidden(const ProjectorShape& shape, const TensorView& hidden, std::span<float> x) {
  REPRISE_CHECK(std::ssize(x) == shape.inputs(), "room for {} of {}", x.size(), shape.inputs());
  const int64_t tokens = hidden.shape[0], cols = hidden.shape[1];
  if (cols != shape.hidden || tokens < 1)
    raise_shape("hidden states {} for a projector of {} values: it is of another model",
                hidden.shape.to_string(), shape.hidden);
  const bool is_image = shape.kind == ProjectorKind::kPooledLinear;
  if (is_image && tokens > shape.tokens)
    raise_shape("a prompt of {} tokens for a pooled_linear projector of {}: cut prompts to that",
                tokens, shape.tokens);
  visit_dtype(hidden.dtype, [&](auto zero) {
    const auto* values = static_cast<const decltype(zero)*>(hidden.data);
    if (is_image)
      maximum_of_tiles(values, tokens, shape.tokens, cols, shape.pooled_rows, x.data());
    else
      mean_of_parts(values, tokens, cols, shape.pooled_rows, x.data());
  });
}

}  // namespace reprise::attn_cache
