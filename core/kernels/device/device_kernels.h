// The kernels of a device other than the CPU: one function for each operation of core/kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/device/context.h"
#include "core/device/device_runtime.h"
#include "core/kernels/activation/activation.h"
#include "core/kernels/attention/run_reads.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/clip/clip.h"
#include "core/kernels/device/work_timer.h"
#include "core/kernels/embedding/embedding.h"
#include "core/kernels/linear/weight_store.h"
#include "core/kernels/norm/norm.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kernels/routing/routing.h"
#include "core/kernels/rows/combine_rows.h"
#include "core/kernels/rows/gather_rows.h"
#include "core/kernels/sampling/sampling.h"

namespace reprise::kernels {

// Each function does what the operation of the same name in core/kernels does. Pointers are device
// addresses. Spans are in host memory and may be changed when the call returns. Callers have
// checked the arguments. DeviceRuntime::operations() returns an object of this class.
class DeviceKernels : public DeviceOperations {
 public:
  virtual void norm(const NormCall& call) = 0;
  virtual void activation(const ActivationCall& call) = 0;
  virtual void rotary(const RotaryCall& call) = 0;
  // `frequencies` is in host memory; `cos` and `sin` are device addresses.
  virtual void rotary_angles(std::span<const int32_t> positions, std::span<const float> frequencies,
                             float factor, float* cos, float* sin) = 0;
  virtual void embedding(const EmbeddingCall& call) = 0;
  virtual void clip(const ClipCall& call) = 0;
  virtual void gather_rows(const GatherRowsCall& call) = 0;
  virtual void combine_rows(const CombineRowsCall& call) = 0;
  virtual void sample(const SampleCall& call) = 0;

  virtual void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                             const AttentionParams& params, const float* bias, float* map) = 0;
  // Each map is on the device that its `device` field names.
  virtual void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
                         int64_t heads, const OutputView& out) = 0;

  // Makes a matrix in the device's layout; see Weight.
  [[nodiscard]] virtual std::unique_ptr<WeightStore> make_weight(int64_t rows, int64_t cols,
                                                                 WeightType type,
                                                                 const Weight::FillRows& fill,
                                                                 const Context& context) = 0;
  [[nodiscard]] virtual std::unique_ptr<StepAttention> make_step_attention() = 0;
  virtual void require_head_dim(int64_t head_dim) const = 0;
  virtual void require_kv_dtype(DType dtype) const = 0;
  // Returns the estimated microseconds of one layer's attention over `reads` on this device.
  // Planners use it to compare ways to read the same run of tokens.
  [[nodiscard]] virtual double reads_us(const RunReads& reads) const = 0;
  // `context` must be of this device.
  [[nodiscard]] virtual std::unique_ptr<WorkTimer> make_work_timer(const Context& context) = 0;
};

// Returns the kernels of the context's device, or null for the CPU. Throws Error naming
// `operation`, such as "a norm", if the context's device is not the CPU and the context has no
// runtime.
DeviceKernels* device_kernels(const Context& context, std::string_view operation);

}  // namespace reprise::kernels
