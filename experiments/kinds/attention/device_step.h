// Runs the rows of a plan on a device, for PlanOperator.
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
  // `context` must be the context of a device other than the CPU.
  DeviceStep(const AttentionProblem& problem, const Context& context);

  // Schedules a plan's attention and brings the schedule to the device. `plan` is borrowed until
  // the next call.
  void begin(const kv::AttentionPlan& plan, const kernels::AttentionParams& params);
  // Copies keys and values [rows, kv_dim] of the plan's rows to the device, and queries
  // [rows, q_dim] unless `queries` is empty.
  void set_rows(std::span<const float> keys, std::span<const float> values,
                std::span<const float> queries);
  // append() and attend() submit kernels to the device without waiting for them.
  void append();
  void attend();
  // Reads the output of attend(): [rows, q_dim].
  void read_output(std::span<float> out);

  // The queries of set_rows(), and the output of attend(), in the device's memory.
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
