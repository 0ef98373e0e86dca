// A weight matrix stored as codes. Few input rows are multiplied with codes that are decoded as
// they are read; many input rows are multiplied with panels expanded to plain weights.
#pragma once

#include <cstdint>

#include "core/kernels/linear/cpu/coded_matrix.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cpu {

class QuantizedPanels final : public WeightStore {
 public:
  // Throws what CodedMatrix() throws.
  QuantizedPanels(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
                  const Context& context);

  [[nodiscard]] size_t bytes() const override { return matrix_.bytes(); }
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

 private:
  // Multiplies x with codes that are decoded as they are read.
  void stream(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  // Expands weights panel by panel and multiplies with the kernels for plain weights (with AMX, in
  // tiles).
  void expand(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  // Writes the panel to `out` as [words][64] plain weights in input_dtype().
  void expand_to(int64_t index, void* out, Isa isa) const;

  CodedMatrix matrix_;
};

}  // namespace reprise::kernels::cpu
