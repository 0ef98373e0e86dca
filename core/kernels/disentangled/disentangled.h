// Attention whose scores also depend on the distance between two tokens, through learned position
// vectors. [DeBERTa §3.1, eq. 4; DeBERTa V3 shares vectors among large distances]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

// A text: rows [first_row, end_row) of a step, each of which sees all rows of the text.
struct TextRows {
  int32_t first_row = 0, end_row = 0;
  [[nodiscard]] int64_t tokens() const { return end_row - first_row; }
};

// Projected position vectors of one layer, f32, one for each bucket of distances: element (head h,
// dimension c, bucket x) is at (h * head_dim + c) * stride + x. A row has one dimension of all
// buckets, so a token's products with all buckets are a weighted sum of rows.
struct PositionVectors {
  // Number of floats after the last element that must be readable, because kernels load whole
  // vectors.
  static constexpr int64_t kReadable = 16;

  const float* data = nullptr;  // null: scores have no such term
  int64_t stride = 0;
};

// Memory that calls reuse: one scratch buffer for each worker, allocated at first use and kept.
struct DisentangledWorkspace {
  std::vector<AlignedBuffer> scratch;
};

// One layer's attention over some texts.
//   s_ij = scale * (<q_i, k_j> + <q_i, pk_x> + <pq_x, k_j>),  x = buckets[i - j + longest - 1]
//   o_i  = sum over j of softmax_j(s_ij) * v_j
//   q, k, v   row r, head h at r * row_stride + h * head_dim, f32, as many heads each
//   buckets   [2 * longest - 1], ascending by distance, longest >= tokens of every text (CHECK)
struct DisentangledCall {
  std::span<const TextRows> texts;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t row_stride = 0, heads = 0, head_dim = 0;
  float scale = 1.0f;
  PositionVectors keys, queries;  // pk, pq
  std::span<const int32_t> buckets;

  // Computes o into `out` [rows, heads * head_dim]; writes only the rows of the texts. Sums are
  // f32, in an order that depends only on the shapes.
  void run(const OutputView& out, DisentangledWorkspace& workspace, const Context& context) const;
  // Writes the position terms of the scores; the caller adds them to scale * <q_i, k_j>.
  //   out[(head * rows + row) * keys_per_row + token]  the term of this head, this row and token
  //   `token` of the row's text
  // `rows` is the number of rows of the step; no text is longer than keys_per_row.
  void biases(float* out, int64_t rows, int64_t keys_per_row, DisentangledWorkspace& workspace,
              const Context& context) const;
};

}  // namespace reprise::kernels
