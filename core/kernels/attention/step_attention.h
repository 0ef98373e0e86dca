// The attention of one step, for all its layers, on the device that computes.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/context.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

// One object serves all steps and keeps the memory that a step allocates.
class StepAttention {
 public:
  virtual ~StepAttention() = default;

  // Called before the first layer of a step: schedules the plan, and copies the data that all
  // layers share to the device. The plan and the slopes of params.alibi must live until the next
  // begin(). Throws what AttentionSchedule::build() throws; on CUDA, ShapeError for head sizes that
  // are not compiled and Error for an f32 cache.
  virtual void begin(const kv::AttentionPlan& plan, int64_t heads,
                     const AttentionParams& params) = 0;
  // Does what kernels::write_kv() does, with the step's plan.
  virtual void write_kv(int64_t layer, const float* keys, const float* values,
                        int64_t row_stride) = 0;
  // Rotates the queries and keys of all rows (the heads of `rotary`), then does what write_kv()
  // does. The cache gets rotated keys; the keys at `keys` may stay unrotated.
  virtual void rotate_and_write_kv(const RotaryCall& rotary, int64_t layer, const float* keys,
                                   const float* values, int64_t row_stride) = 0;
  // Does what kernels::attention() does, with the step's plan.
  virtual void attend(int64_t layer, const QueryView& q, const OutputView& out) = 0;
  // begin_parts(), attend_parts() and merge_parts() replace begin() and attend() to time the two
  // halves of attention: every row gets partial results, which merge_parts() then merges. See
  // kernels::partial_attention().
  virtual void begin_parts(const kv::AttentionPlan& plan, int64_t heads,
                           const AttentionParams& params) = 0;
  virtual void attend_parts(int64_t layer, const QueryView& q) = 0;
  virtual void merge_parts(const OutputView& out) = 0;
  // Appends to `key` what the launches of write_kv() and attend() depend on besides the arguments
  // of these functions. Steps with equal keys launch the same kernels, see
  // DeviceRuntime::run_repeatedly().
  virtual void append_key(WorkKey& key) const = 0;
};

std::unique_ptr<StepAttention> make_step_attention(const Context& context);

// require_head_dim() throws the error that begin() would throw for heads of size head_dim;
// require_kv_dtype() the error for a cache of `dtype`.
void require_head_dim(const Context& context, int64_t head_dim);
void require_kv_dtype(const Context& context, DType dtype);

}  // namespace reprise::kernels
