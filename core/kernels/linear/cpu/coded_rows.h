// Multiplies input rows with panels of codes. Kernels decode the codes as they read them.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/quantized_panel.h"

namespace reprise::kernels::cpu {

// The properties that are equal for all panels of a matrix.
struct CodedShape {
  WeightType type;
  int64_t cols = 0;
  int64_t inputs = 0;        // cols plus padding
  int64_t group_inputs = 0;  // inputs that share a scale
};

// True if a kernel exists that multiplies many rows at once, and so decodes codes only once for all
// of them.
[[nodiscard]] inline bool takes_many_coded_rows(DType input, const Context& context) {
  return input == DType::kBF16 && has_bf16_dot(context.isa);
}

class CodedRows {
 public:
  // The call's x [m, cols] is in the input dtype of `shape.type`. Copies x to `workspace` in the
  // kernel's dtype. For int4, also computes the sums of x over each group there. The call and the
  // workspace must outlive this object.
  CodedRows(const LinearCall& call, const CodedShape& shape, LinearWorkspace& workspace,
            const Context& context);

  // Computes, for all rows of x, the outputs in `outputs` that belong to panel `index`.
  void run(int64_t index, const Outputs& outputs, const QuantizedPanel& panel) const;

 private:
  const LinearCall& call_;
  const LinearWorkspace& workspace_;
  int64_t inputs_;
  Isa isa_;
  WeightFetch fetch_;
  bool has_bf16_dot_;
  bool is_staged_;      // see QuantizedTask
  int64_t rows_;        // rows of each task
  DType dtype_;         // dtype of the kernel's input
  const char* input_;   // [m, inputs]
  int64_t groups_ = 0;  // groups of a panel for workspace.input_sums [m, groups]; 0 if not int4
};

}  // namespace reprise::kernels::cpu
