#include "core/kernels/attention/step_attention.h"

#include "core/base/error.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/kv_write/kv_write.h"

namespace reprise::kernels {
namespace {

class CpuStepAttention final : public StepAttention {
 public:
  explicit CpuStepAttention(const Context& context) : context_(context) {}

  void begin(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params) override {
    schedule(plan, heads, params, RowResults::kFinished);
  }
  void write_kv(int64_t layer, const float* keys, const float* values,
                int64_t row_stride) override {
    kernels::write_kv(*plan_, layer, keys, values, row_stride, context_);
  }
  void rotate_and_write_kv(const RotaryCall& rotary, int64_t layer, const float* keys,
                           const float* values, int64_t row_stride) override {
    rotary.run(context_);
    write_kv(layer, keys, values, row_stride);
  }
  void attend(int64_t layer, const QueryView& q, const OutputView& out) override {
    attention(step(), layer, q, out, workspace_, context_);
  }
  void begin_parts(const kv::AttentionPlan& plan, int64_t heads,
                   const AttentionParams& params) override {
    schedule(plan, heads, params, RowResults::kPartial);
  }
  void attend_parts(int64_t layer, const QueryView& q) override {
    partial_attention(step(), layer, q, workspace_, context_);
  }
  void merge_parts(const OutputView& out) override {
    merge_partials(schedule_, workspace_.partials, out, context_);
  }
  void append_key(WorkKey&) const override {}  // the CPU's work is not recorded

 private:
  void schedule(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
                RowResults results) {
    plan_ = &plan;
    params_ = params;
    schedule_.build(plan, heads, params, context_, results);
  }
  [[nodiscard]] AttentionStep step() const {
    return {.plan = *plan_, .schedule = schedule_, .params = params_};
  }

  Context context_;
  const kv::AttentionPlan* plan_ = nullptr;
  AttentionParams params_;
  AttentionSchedule schedule_;
  AttentionWorkspace workspace_;
};

}  // namespace

std::unique_ptr<StepAttention> make_step_attention(const Context& context) {
  if (DeviceKernels* device = device_kernels(context, "attention"))
    return device->make_step_attention();
  return std::make_unique<CpuStepAttention>(context);
}

void require_head_dim(const Context& context, int64_t head_dim) {
  if (const DeviceKernels* device = device_kernels(context, "attention"))
    device->require_head_dim(head_dim);
}

void require_kv_dtype(const Context& context, DType dtype) {
  if (const DeviceKernels* device = device_kernels(context, "attention"))
    device->require_kv_dtype(dtype);
}

}  // namespace reprise::kernels
