#include "experiments/kinds/attention/layer_around.h"

#include <algorithm>
#include <vector>

#include "core/kernels/activation/activation.h"

namespace reprise::experiments {
namespace {

int64_t qkv_dim(const AttentionProblem& problem) { return problem.q_dim() + 2 * problem.kv_dim(); }

LinearCosts costs_of(int64_t rows, int64_t inputs, int64_t outputs, DType dtype) {
  return {.flop = 2.0 * static_cast<double>(rows * inputs * outputs),
          .bytes = static_cast<double>(inputs * outputs + rows * (inputs + outputs)) *
                   static_cast<double>(size_of(dtype))};
}

// Makes weights. Their values do not change times, but denormal values would. All pages must be
// written, because unwritten pages map to a single page of zeros.
kernels::Weight made_up(int64_t rows, int64_t cols, DType dtype, const Context& context) {
  return {rows, cols, format_of(dtype),
          [=](int64_t first, int64_t end, void* out) {
            std::fill_n(static_cast<char*>(out),
                        static_cast<size_t>((end - first) * cols) * size_of(dtype), char{60});
          },
          context};
}

Buffer activations(int64_t rows, int64_t cols, DType dtype, const Context& context) {
  const auto bytes = static_cast<size_t>(rows * cols) * size_of(dtype);
  Buffer buffer(context.runtime, bytes);
  const std::vector<char> values(bytes, char{60});
  buffer.write(0, values.data(), bytes);
  return buffer;
}

}  // namespace

LinearCosts qkv_costs(const AttentionProblem& problem, const LayerWidth& width, DType dtype) {
  return costs_of(problem.batch, width.hidden, qkv_dim(problem), dtype);
}

LinearCosts mlp_costs(const AttentionProblem& problem, const LayerWidth& width, DType dtype) {
  const LinearCosts gate_up = costs_of(problem.batch, width.hidden, 2 * width.intermediate, dtype);
  const LinearCosts down = costs_of(problem.batch, width.intermediate, width.hidden, dtype);
  return {.flop = gate_up.flop + down.flop, .bytes = gate_up.bytes + down.bytes};
}

LayerAround::LayerAround(const AttentionProblem& problem, const LayerWidth& width, DType dtype,
                         const Context& context)
    : context_(context),
      rows_(problem.batch),
      dtype_(dtype),
      qkv_(made_up(qkv_dim(problem), width.hidden, dtype, context)),
      gate_up_(made_up(2 * width.intermediate, width.hidden, dtype, context)),
      down_(made_up(width.hidden, width.intermediate, dtype, context)),
      input_(activations(rows_, width.hidden, dtype, context)),
      projected_(activations(rows_, qkv_dim(problem), DType::kF32, context)),
      gated_(activations(rows_, 2 * width.intermediate, dtype, context)),
      activated_(activations(rows_, width.intermediate, dtype, context)),
      output_(activations(rows_, width.hidden, DType::kF32, context)) {}

void LayerAround::project_qkv() {
  const kernels::LinearCall call{.x = input_.data(), .m = rows_, .out = projected_.data()};
  call.run(qkv_, workspace_, context_);
}

void LayerAround::run_mlp() {
  const kernels::LinearCall gate_up{
      .x = input_.data(), .m = rows_, .out = gated_.data(), .out_dtype = dtype_};
  gate_up.run(gate_up_, workspace_, context_);
  const kernels::ActivationCall activation{.is_gated = true,
                                           .x = gated_.data(),
                                           .out = activated_.data(),
                                           .dtype = dtype_,
                                           .rows = rows_,
                                           .cols = down_.cols()};
  activation.run(context_);
  const kernels::LinearCall down{.x = activated_.data(), .m = rows_, .out = output_.data()};
  down.run(down_, workspace_, context_);
}

}  // namespace reprise::experiments
