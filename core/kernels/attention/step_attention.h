// The attention of one step, for all its layers, on the device that computes.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/context.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kv/plan.h"

namespace reprise::kernels {

// Made once and used for all steps; keeps the memory that a step allocates.
class StepAttention {
 public:
  virtual ~StepAttention() = default;

  // Called before the first layer: schedules the plan and copies shared data to the device. The
  // plan and the slopes are borrowed until the next call. Throws as AttentionSchedule::build()
  // does; on CUDA, ShapeError for head sizes that are not compiled and Error for an f32 cache.
  virtual void begin(const kv::AttentionPlan& plan, int64_t heads,
                     const AttentionParams& params) = 0;
  // kernels::write_kv() with the step's plan.
  virtual void write_kv(int64_t layer, const float* keys, const float* values,
                        int64_t row_stride) = 0;
  // Rotates the rows' queries and keys (all heads of `rotary`), then does what write_kv() does. The
  // cache gets the rotated keys; those at `keys` may stay unrotated.
  virtual void rotate_and_write_kv(const RotaryCall& rotary, int64_t layer, const float* keys,
                                   const float* values, int64_t row_stride) = 0;
  // kernels::attention() with the step's plan.
  virtual void attend(int64_t layer, const QueryView& q, const OutputView& out) = 0;
  // Replace begin() and attend() to time the two halves of attention: every row goes through
  // partial results, which merge_parts() then merges. See kernels::partial_attention().
  virtual void begin_parts(const kv::AttentionPlan& plan, int64_t heads,
                           const AttentionParams& params) = 0;
  virtual void attend_parts(int64_t layer, const QueryView& q) = 0;
  virtual void merge_parts(const OutputView& out) = 0;
  // Appends everything that the launches of write_kv() and attend() depend on, besides their
  // arguments: steps with equal keys launch the same kernels, see DeviceRuntime::run_repeatedly().
  virtual void append_key(WorkKey& key) const = 0;
};

std::unique_ptr<StepAttention> make_step_attention(const Context& context);

// Throw the errors of begin() for heads of this size, and for a cache of this dtype.
void require_head_dim(const Context& context, int64_t head_dim);
void require_kv_dtype(const Context& context, DType dtype);

}  // namespace reprise::kernels
