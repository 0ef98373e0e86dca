// Attention over a plan: computes partial results for each work item and merges them exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kernels/attention/attention_schedule.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

// Query rows of one layer, after rotary embedding.
struct QueryView {
  const float* data = nullptr;  // element (row, head, c) at row * row_stride + head * head_dim + c
  int64_t row_stride = 0;       // in elements
  int64_t heads = 0;  // heads % kv_heads == 0; query head h reads kv head h / (heads / kv_heads)
};

// Attention with linear biases: score = scale * <q, k> + slope * (a(k_position) - a(q_position)),
// where a is the identity. Subtracting a(q_position) keeps the biases small. It does not change the
// softmax, because it changes the scores of all keys alike.
struct AlibiView {
  // [heads]; empty: no bias. Already multiplied by the model's bias factor, unless rounded_to_bf16.
  std::span<const float> slopes;
  // True for Falcon, whose reference implementation rounds: score = scale * <q, k> + factor *
  // (a(k_position) - a(q_position)) with a(position) = bf16(slope * bf16(position)). The rounding
  // changes Falcon's results visibly.
  bool rounded_to_bf16 = false;
  float factor = 1.0f;  // the model's bias factor; read only if rounded_to_bf16
};

struct AttentionParams {
  float scale = 1.0f;  // > 0, so that the largest product gives the largest score
  int64_t window = 0;  // 0: none; else a key is seen while q_position - k_position < window
  AlibiView alibi;
};

// Partial results of each (part, row, head) for which SchedulePart::is_alone is false: the largest
// score m, the sum n of the weights exp(score - m), and the sum o of the values times these
// weights, not yet divided by n. [ChunkAttention §3.2, eq. 1]
//   o [entries, head_dim], m [entries], n [entries], f32; m is in natural logarithm units.
// Entry of (part p, row r, head h): p.first_entry + (r - first row of p's item) * heads + h. A row
// that sees no key has m = -inf, n = 0, and o = 0 except with kv::Reduction::kDirect.
struct Partials {
  AlignedBuffer o, m, n;
  AlignedBuffer locks;  // [entries]  u8, 0: free; only with kv::Reduction::kDirect
  int64_t heads = 0, head_dim = 0;
  bool is_direct = false;

  // Makes the buffers large enough for a schedule; they never shrink. With Reduction::kDirect, sets
  // every entry to m = -inf, n = 0, as for a row that sees no key, and frees its lock. o keeps its
  // old content: the first part that saw a key overwrites it.
  void prepare(const AttentionSchedule& schedule, int64_t head_dim_wanted);
};

struct OutputView {
  void* data = nullptr;       // [rows, heads * head_dim], row-major
  DType dtype = DType::kF32;  // f32 or bf16
};

// Data that all layers of a step share. The schedule was built from this plan and these parameters.
struct AttentionStep {
  const kv::AttentionPlan& plan;
  const AttentionSchedule& schedule;
  const AttentionParams& params;
};

// Memory that calls of attention() reuse: each worker's scratch, and the partial results. Allocated
// at first use and kept.
class AttentionWorkspace {
 public:
  std::vector<AlignedBuffer> scratch;  // one per worker
  Partials partials;
  AttentionSchedule schedule;  // used by calls without a schedule of their own
};

// out = softmax(scale * q k^T + bias + mask) v by the plan, for one layer. Rows that the schedule
// computes in one part are written to `out` directly. All other rows get partial results, which are
// merged in the order of their keys' positions, so results do not depend on the number of threads.
// With Reduction::kDirect, however, the last bits may differ between runs with several threads.
// With a batch-invariant context, a row's bits do not depend on the other rows of the plan. The
// dtype of an item's cache selects the arithmetic: for bf16 keys and values, on a processor with
// the bf16 dot product, q and the softmax weights are rounded to bf16, and products accumulate in
// f32. Otherwise everything is f32. A row that sees no key yields 0. If a value is not finite, even
// rows that do not see its key may become NaN: a key that is masked within a tile has weight 0, and
// 0 * inf is NaN. The plan must be finished, and the keys and values of the rows themselves must be
// in the cache.
void attention(const AttentionStep& step, int64_t layer, const QueryView& q, const OutputView& out,
               AttentionWorkspace& workspace, const Context& context);
// Does the same for one layer after building the schedule in `workspace`. Throws ShapeError if
// heads % kv_heads != 0 or head_dim > 256.
void attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
               const AttentionParams& params, const OutputView& out, AttentionWorkspace& workspace,
               const Context& context);

// partial_attention() and merge_partials() are the two halves of attention(), for methods, tests
// and timings. The step's schedule must be built with RowResults::kPartial, so that every part
// writes partial results; merge_partials() merges them by that schedule.
void partial_attention(const AttentionStep& step, int64_t layer, const QueryView& q,
                       AttentionWorkspace& workspace, const Context& context);
// out = sum_i exp(m_i - m) o_i / sum_i exp(m_i - m) n_i with m = max_i m_i, for the merged rows of
// the schedule; other rows of `out` stay as they are. [ChunkAttention eq. 2; RelayAttention eq. 7]
void merge_partials(const AttentionSchedule& schedule, const Partials& partials,
                    const OutputView& out, const Context& context);

}  // namespace reprise::kernels
