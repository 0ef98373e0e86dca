// The attention of a reuse method: executes the method's plans with this project's kernels.
#pragma once

#include <memory>
#include <vector>

#include "core/device/buffer.h"
#include "core/engine/step.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kv/block_pool.h"
#include "experiments/kinds/attention/attention_operator.h"

namespace reprise::experiments {

// Bytes of the block pool that a method asks for. Throws Error for an unknown method or option.
[[nodiscard]] double pool_bytes(const MethodChoice& method, const AttentionProblem& problem);

// Rows of f32 that the host writes and attention reads. On a device other than the CPU they are
// written to host memory and then copied.
class HostRows {
 public:
  explicit HostRows(std::shared_ptr<DeviceRuntime> runtime) : runtime_(std::move(runtime)) {}

  // Returns host memory for `elements` numbers. Call bring() when they are written.
  float* make_room(int64_t elements);
  // Copies the numbers to the device, if it is not the CPU.
  void bring();
  // The numbers, in the memory of the device.
  [[nodiscard]] const float* data() const {
    return runtime_ != nullptr ? on_device_.as<float>() : host_.as<float>();
  }

 private:
  std::shared_ptr<DeviceRuntime> runtime_;  // null on the CPU
  size_t bytes_ = 0;
  AlignedBuffer host_;
  Buffer on_device_;  // empty on the CPU
};

// Drives a method as the engine does, without a model: declares the shared prefix, admits all
// sequences, lets the method plan their prefills, and fills the row slots that the plans name.
class PlanOperator final : public AttentionOperator {
 public:
  PlanOperator(const MethodChoice& method, const AttentionProblem& problem,
               const TokenValues& values, const Context& context);
  ~PlanOperator() override;

  void advance() override;
  void append() override;
  void attend() override;
  void read_output(std::span<float> out) override;
  [[nodiscard]] std::vector<OperatorPart> parts() override;
  [[nodiscard]] std::function<void()> stream() override;
  [[nodiscard]] double kv_bytes_read() const override { return plan_kv_bytes(*plan_); }
  [[nodiscard]] int64_t kv_peak_bytes() const override { return pool_.peak_bytes(); }
  [[nodiscard]] methods::Exactness exactness() const override { return info_.exactness; }
  // In f32, and with f16 keys, which are widened to f32, the error of sums of thousands of terms
  // stays below 1e-4. With bf16 keys, outputs are rounded to bf16. With bf16 dot products, queries
  // and weights are rounded to bf16, too.
  [[nodiscard]] Rounding rounding() const override {
    if (context_.runtime != nullptr) {
      // Queries and weights are multiplied in the type of the keys.
      const double u = epsilon_of(problem_.kv_dtype) / 2;
      return {.queries = u,
              .weights = u,
              .outputs = output_dtype(problem_) == DType::kBF16 ? u : 0.0,
              .sums = 1e-4};
    }
    if (problem_.kv_dtype != DType::kBF16) return {.sums = 1e-4};
    const double u = epsilon_of(DType::kBF16) / 2;
    const double of_products = has_bf16_dot(context_.isa) ? u : 0.0;
    return {.queries = of_products, .weights = of_products, .outputs = u, .sums = 1e-4};
  }
  void report(const reuse::MetricSink& sink) const override;
  [[nodiscard]] Fields resolved() const override;

 private:
  // A range of one sequence's tokens that are rows of a step.
  struct Part {
    int64_t sequence = 0;
    int32_t first_token = 0, rows = 0;
  };

  void declare_prefix();
  void admit_some();
  // Plans the part's tokens as a prefill and stores their keys and values. `tokens` is the whole
  // prompt.
  void prefill(reuse::RequestId id, const Part& part, std::span<const int32_t> tokens);
  // Reserves and plans the sequences that were added to step_, and schedules their attention.
  void begin_step();
  // store_rows() writes keys and values to the rows that plan_ assigns to `parts`; store_queries()
  // writes queries.
  void store_rows(std::span<const Part> parts);
  void store_queries(std::span<const Part> parts);
  // Prepares attention over `plan`, which is shared_plan_ or private_plan_, so that it can be timed
  // by itself. The result lives as long as this operator.
  kernels::StepAttention& attention_of(const kv::AttentionPlan& plan);
  [[nodiscard]] kernels::QueryView queries() const;
  [[nodiscard]] kernels::AttentionParams params() const;
  [[nodiscard]] kernels::OutputView output();

  AttentionProblem problem_;
  const TokenValues& values_;
  Context context_;
  const methods::MethodInfo& info_;
  std::unique_ptr<reuse::SequenceCache> method_;
  kv::BlockPool pool_;
  std::vector<std::vector<int32_t>> tokens_;  // ids of each sequence admitted
  std::vector<int32_t> positions_;            // 0, 1, 2, ...; the same for all sequences
  std::vector<double> plan_us_;               // time of each advance(), with the schedule

  // The members below belong to the current step.
  engine::Step step_;
  const kv::AttentionPlan* plan_ = nullptr;
  std::vector<int64_t> newest_row_;  // [batch]  newest row of each sequence
  HostRows keys_, values_rows_;      // [rows, kv_dim]
  HostRows queries_;                 // [rows, q_dim]
  Buffer output_;                    // [rows, q_dim] of output_dtype()
  std::unique_ptr<kernels::StepAttention> attention_;
  kv::AttentionPlan shared_plan_, private_plan_;  // read by several sequences; read by one sequence
  std::vector<std::unique_ptr<kernels::StepAttention>> part_attentions_;  // made by parts()
};

}  // namespace reprise::experiments
