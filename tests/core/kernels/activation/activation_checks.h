// Compares activations with their definition in every instruction set.
#pragma once

#include <fmt/core.h>

#include <vector>

#include "core/kernels/activation/activation.h"
#include "core/kernels/activation/reference/activation.h"
#include "tests/core/kernels/activation/activation_bounds.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

using reprise::testing::kActivations;

inline const char* name_of(ActivationKind kind) {
  return kind == ActivationKind::kSilu   ? "silu"
         : kind == ActivationKind::kGelu ? "gelu"
                                         : "gelu_tanh";
}

inline void check_activation(ActivationKind kind, bool is_gated, DType dtype,
                             const std::vector<float>& x, int64_t rows, int64_t cols) {
  const Tensor input = reprise::testing::tensor_of(x, dtype);
  ActivationCall call{.kind = kind,
                      .is_gated = is_gated,
                      .x = input.data(),
                      .dtype = dtype,
                      .rows = rows,
                      .cols = cols};
  const std::vector<double> want = reference::activation(call);
  const std::vector<double> bound =
      reprise::testing::activation_bounds(call, reprise::testing::values_of(input), want);
  for (Isa isa : reprise::testing::available_isas()) {
    Tensor out(dtype, {rows * cols});
    call.out = out.data();
    call.run({.threads = 2, .isa = isa});
    reprise::testing::expect_within(
        reprise::testing::values_of(out), want, bound,
        fmt::format("{} {} {} cols {} isa {}", name_of(kind), name_of(dtype),
                    is_gated ? "gated" : "plain", cols, name_of(isa)));
  }
}

}  // namespace reprise::kernels::testing
