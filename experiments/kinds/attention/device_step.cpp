#include "experiments/kinds/attention/device_step.h"

#include <vector>

namespace reprise::experiments {
namespace {

void bring(const std::shared_ptr<DeviceRuntime>& runtime, std::span<const float> host, Buffer& to) {
  if (to.bytes() < host.size_bytes()) to = Buffer(runtime, host.size_bytes());
  to.write(0, host.data(), host.size_bytes());
}

}  // namespace

DeviceStep::DeviceStep(const AttentionProblem& problem, const Context& context)
    : problem_(problem),
      runtime_(context.runtime),
      attention_(kernels::make_step_attention(context)) {}

void DeviceStep::begin(const kv::AttentionPlan& plan, const kernels::AttentionParams& params) {
  rows_ = plan.rows();
  attention_->begin(plan, problem_.heads, params);
}

void DeviceStep::set_rows(std::span<const float> keys, std::span<const float> values,
                          std::span<const float> queries) {
  bring(runtime_, keys, keys_);
  bring(runtime_, values, values_);
  bring(runtime_, queries, queries_);
  const size_t bytes = queries.size() * size_of(output_dtype(problem_));
  if (output_.bytes() < bytes) output_ = Buffer(runtime_, bytes);
}

void DeviceStep::append() {
  attention_->write_kv(0, keys_.as<float>(), values_.as<float>(), problem_.kv_dim());
}

void DeviceStep::attend() { attention_->attend(0, queries(), output()); }

kernels::QueryView DeviceStep::queries() const {
  return {.data = queries_.as<float>(), .row_stride = problem_.q_dim(), .heads = problem_.heads};
}

kernels::OutputView DeviceStep::output() {
  return {.data = output_.data(), .dtype = output_dtype(problem_)};
}

void DeviceStep::read_output(std::span<float> out) {
  std::vector<std::byte> bytes(out.size() * size_of(output_dtype(problem_)));
  runtime_->copy_out(bytes.data(), output_.data(), bytes.size());
  convert(bytes.data(), output_dtype(problem_), out.data(), DType::kF32, out.size());
}

}  // namespace reprise::experiments
