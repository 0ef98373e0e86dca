// Panels of codes against input rows, as they stream by.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/quantized_panel.h"

namespace reprise::kernels::cpu {

// What all panels of a matrix have alike.
struct CodedShape {
  WeightType type;
  int64_t cols = 0;
  int64_t inputs = 0;        // of a panel, cols and what pads them
  int64_t group_inputs = 0;  // that share a scale
};

// Whether many rows are multiplied at once, so that codes are decoded once for all of them.
[[nodiscard]] inline bool takes_many_coded_rows(DType input, const Context& context) {
  return input == DType::kBF16 && context.isa == Isa::kAvx512Bf16;
}

class CodedRows {
 public:
  // x [m, cols] of the call is in the type's input dtype; a copy of it in what the kernel reads is
  // made in `workspace`, as are the sums that int4 needs. The call and the workspace must outlive
  // this.
  CodedRows(const LinearCall& call, const CodedShape& shape, LinearWorkspace& workspace,
            const Context& context);

  // Writes the share of panel `index` of the wanted outputs, all rows.
  void run(int64_t index, const Outputs& outputs, const QuantizedPanel& panel) const;

 private:
  const LinearCall& call_;
  const LinearWorkspace& workspace_;
  int64_t inputs_;
  Isa isa_;
  bool has_bf16_dot_;
  int64_t rows_;        // of a task
  DType dtype_;         // of what the kernel reads
  const char* input_;   // [m, inputs]
  int64_t groups_ = 0;  // of a panel, where workspace.input_sums [m, groups] are needed
};

}  // namespace reprise::kernels::cpu
