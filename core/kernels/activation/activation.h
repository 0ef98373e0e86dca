// The activation function of the MLP, plain or gated.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/context.h"

namespace reprise::kernels {

enum class ActivationKind : uint8_t {
  kSilu,     // x / (1 + exp(-x))
  kGelu,     // x * (1 + erf(x / sqrt 2)) / 2; absolute error up to 2e-7 for |x| < 12
  kGeluTanh  // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
};

//   plain  out = act(x)           x [rows, cols]
//   gated  out = act(gate) * up   x [rows, 2 * cols], gate first     (SwiGLU with kSilu)
//   x and out have the same dtype, f32 or bf16; arithmetic is f32. out [rows, cols] may alias x if
//   not gated.
struct ActivationCall {
  ActivationKind kind = ActivationKind::kSilu;
  bool is_gated = false;
  const void* x = nullptr;
  void* out = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0, cols = 0;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
