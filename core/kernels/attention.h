// Attention over a plan: partial results for each work item, merged exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

// Query rows of one layer, after rotary embedding.
struct QueryView {
  const float* data = nullptr;  // element (row, head, c) at row * row_stride + head * head_dim + c
  int64_t row_stride = 0;       // in elements
  int64_t heads = 0;  // heads % kv_heads == 0; query head h reads kv head h / (heads / kv_heads)
};

// Attention with linear biases: score = scale * <q, k> + slope * (a(k_position) - a(q_position)),
// where a is the identity. Only differences between keys matter to a softmax; taking them relative
// to the query keeps the terms small.
struct AlibiView {
  std::span<const float>
      slopes;  // [heads]; empty: no bias. Already multiplied by what the model scales it with.
  // Falcon's reference computes bf16(slope * bf16(position)): the rounding is a visible part of the
  // model. Then score = scale * <q, k> + factor * (round(slope * k_position) - round(slope *
  // q_position)).
  bool rounded_to_bf16 = false;
  float factor = 1.0f;  // used when rounded
};

struct AttentionParams {
  float scale = 1.0f;
  int64_t window = 0;  // 0: none; else a key is seen while q_position - k_position < window
  AlibiView alibi;
};

// Unmerged results of every (item, row, head): o is not yet divided by n.   [ChunkAttention §3.2,
// eq. 1]
//   o [entries, head_dim], m [entries], n [entries], f32; m in natural logarithm units of the
//   scores.
// Entry of (item i, row r, head h): item_begin[i] + (r - first_row) * heads + h.
// A row that sees no key has o = 0, m = -inf, n = 0.
struct Partials {
  std::vector<int64_t> item_begin;  // [items + 1]
  AlignedBuffer o, m, n;
  int64_t heads = 0, head_dim = 0;

  // Sizes the buffers for a plan; memory only ever grows.
  void prepare(const kv::AttentionPlan& plan, int64_t heads);
};

struct OutputView {
  void* data = nullptr;       // [rows, heads * head_dim], row-major
  DType dtype = DType::kF32;  // f32 or bf16
};

// Scratch of each worker and the partials, grown on first use and then kept.
class AttentionWorkspace {
 public:
  std::vector<AlignedBuffer> scratch;  // one per worker
  Partials partials;
  std::vector<int64_t> task_begin;  // [items + 1]
  std::vector<int64_t> task_units;  // [items]  kv heads that a task of the item takes in turn
  std::vector<char> alone;          // [items]  whether the item finishes its rows in place
  std::vector<char> merged;         // [rows]   whether the row goes through partials
};

// out = softmax(scale * q k^T + bias + mask) v by the plan, for one layer. Rows covered by a single
// item are finished in place; the others go through partials and a merge in item order, so results
// do not depend on the thread count. Each item runs in the arithmetic of its
// cache: with bf16 keys and values on a processor with the bf16 dot product, q and the softmax
// weights are rounded to bf16 and products accumulate in f32; otherwise all arithmetic is f32. A
// row that sees no key yields 0. Throws Error for head_dim > 256. The plan must be finished and its
// rows' own keys already written.
void attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
               const AttentionParams& params, const OutputView& out, AttentionWorkspace& workspace,
               const Context& context);

// The two halves of it, for methods, tests and timings that want them apart.
void partial_attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                       const AttentionParams& params, AttentionWorkspace& workspace,
                       const Context& context);
// o = sum_i exp(m_i - m) o_i / sum_i exp(m_i - m) n_i with m = max_i m_i.   [ChunkAttention eq. 2;
// RelayAttention eq. 7]
void merge_partials(const kv::AttentionPlan& plan, const Partials& partials, const OutputView& out,
                    const Context& context);

}  // namespace reprise::kernels
