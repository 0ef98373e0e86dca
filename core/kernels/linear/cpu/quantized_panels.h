// A weight matrix stored as codes. Few input rows are multiplied with the codes as they are read,
// many with panels that are expanded to plain weights.
#pragma once

#include <cstdint>

#include "core/kernels/linear/cpu/coded_matrix.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cpu {

class TiledProduct;

class QuantizedPanels final : public WeightStore {
 public:
  // Throws as CodedMatrix does.
  QuantizedPanels(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
                  const Context& context);

  [[nodiscard]] size_t bytes() const override { return matrix_.bytes(); }
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

 private:
  // Multiplies with the codes as they are read.
  void stream(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  // Expands and multiplies tile by tile with oneDNN; returns false if it has no fast product.
  [[nodiscard]] bool multiply(const LinearCall& call, const Outputs& outputs,
                              LinearWorkspace& workspace, const Context& context) const;
  void multiply_tile(const TiledProduct& product, int64_t output_tile, int64_t first_panel,
                     AlignedBuffer& weights, AlignedBuffer& scratch, Isa isa) const;
  // Expands panel by panel and uses the kernels of plain weights.
  void expand(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  // Writes the panel to `out` as [words][64] plain weights in input_dtype().
  void expand_to(int64_t index, void* out, Isa isa) const;

  CodedMatrix matrix_;
};

}  // namespace reprise::kernels::cpu
