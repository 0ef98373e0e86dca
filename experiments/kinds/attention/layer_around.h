// The linear layers before and after the attention of a decoder layer, timed separately from it.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kernels/linear/linear.h"
#include "experiments/kinds/attention/attention_problem.h"

namespace reprise::experiments {

// Width of the layer; `hidden` is 0 if no linear layers are timed.
struct LayerWidth {
  int64_t hidden = 0;
  int64_t intermediate = 0;
};

// The least cost of one call of a linear layer: 2 floating-point operations for each weight and
// row, and the bytes of weights, inputs and outputs, each moved once. [ChunkAttention table 1]
struct LinearCosts {
  double flop = 0;
  double bytes = 0;
};
[[nodiscard]] LinearCosts qkv_costs(const AttentionProblem& problem, const LayerWidth& width,
                                    DType dtype);
[[nodiscard]] LinearCosts mlp_costs(const AttentionProblem& problem, const LayerWidth& width,
                                    DType dtype);

// The fused projection to queries, keys and values, and a gated MLP (gate and up fused, SiLU,
// down), for one new token of each sequence.
class LayerAround {
 public:
  // `dtype` is the dtype of weights and activations: f32 or bf16, or f16 on a device other than the
  // CPU. On such a device, project_qkv() and run_mlp() submit kernels without waiting for them.
  LayerAround(const AttentionProblem& problem, const LayerWidth& width, DType dtype,
              const Context& context);
  void project_qkv();
  void run_mlp();

 private:
  Context context_;
  int64_t rows_;
  DType dtype_;
  kernels::Weight qkv_, gate_up_, down_;
  Buffer input_, projected_, gated_, activated_, output_;
  kernels::LinearWorkspace workspace_;
};

}  // namespace reprise::experiments
