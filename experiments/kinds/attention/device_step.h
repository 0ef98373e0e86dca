// The rows of a plan on the device that computes: what PlanOperator runs there.
#pragma once

#include <memory>
#include <span>

#include "core/device/buffer.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kv/plan.h"
#include "experiments/kinds/attention/attention_problem.h"

namespace reprise::experiments {

class DeviceStep {
 public:
  // `context` is of the device.
  DeviceStep(const AttentionProblem& problem, const Context& context);

  // Schedules a plan's attention and brings the schedule to the device. `plan` is borrowed until
  // the next call.
  void begin(const kv::AttentionPlan& plan, const kernels::AttentionParams& params);
  // Of the plan's rows: keys and values [rows, kv_dim], and queries [rows, q_dim] or nothing.
  void set_rows(std::span<const float> keys, std::span<const float> values,
                std::span<const float> queries);
  // These give kernels to the device and do not wait.
  void append();
  void attend();
  // What attend() wrote: [rows, q_dim].
  void read_output(std::span<float> out);

  // On the device: of set_rows(), and where attend() writes.
  [[nodiscard]] kernels::QueryView queries() const;
  [[nodiscard]] kernels::OutputView output();

 private:
  AttentionProblem problem_;
  std::shared_ptr<DeviceRuntime> runtime_;
  std::unique_ptr<kernels::StepAttention> attention_;
  int64_t rows_ = 0;
  Buffer keys_, values_, queries_, output_;
};

}  // namespace reprise::experiments
