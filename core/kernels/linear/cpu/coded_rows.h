// Multiplies input rows with panels of codes, which are decoded as they are read.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/quantized_panel.h"

namespace reprise::kernels::cpu {

// The properties that all panels of a matrix share.
struct CodedShape {
  WeightType type;
  int64_t cols = 0;
  int64_t inputs = 0;        // cols plus padding
  int64_t group_inputs = 0;  // inputs that share a scale
};

// True if many rows are multiplied at once, so that codes are decoded once for all of them.
[[nodiscard]] inline bool takes_many_coded_rows(DType input, const Context& context) {
  return input == DType::kBF16 && has_bf16_dot(context.isa);
}

class CodedRows {
 public:
  // The call's x [m, cols] is in the type's input dtype. Copies it to `workspace` in the kernel's
  // dtype, and computes there the sums that int4 needs. The call and the workspace must outlive
  // this object.
  CodedRows(const LinearCall& call, const CodedShape& shape, LinearWorkspace& workspace,
            const Context& context);

  // Writes, for all rows, the wanted outputs that belong to panel `index`.
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
  int64_t groups_ = 0;  // groups of a panel, if workspace.input_sums [m, groups] is used; else 0
};

}  // namespace reprise::kernels::cpu
