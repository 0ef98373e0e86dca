// Weights on the CPU as codes: panels of 64 outputs that a matrix-vector product reads from front to
// back, and that are expanded to plain ones for a matrix product.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/kernels/cpu/panel_rows.h"
#include "core/kernels/cpu/quantized_panel.h"
#include "core/kernels/weight_store.h"

namespace reprise::kernels::cpu {

class TiledProduct;

// Filled 64 rows at a time, so that beside the codes and scales there is room for 64 rows of f32 and
// of bytes for each thread (and in nf4-double, until all are known, for the scales in f32).
class QuantizedPanels final : public WeightStore {
 public:
  // Throws NotFiniteError for the first row that holds a NaN or an infinity.
  QuantizedPanels(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
                  const Context& context);

  [[nodiscard]] QuantizedPanel panel(int64_t index) const;
  [[nodiscard]] int64_t panels() const { return (rows() + kPanelOutputs - 1) / kPanelOutputs; }

  [[nodiscard]] size_t bytes() const override;
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

 private:
  class Filler;
  // Of nf4-double: what is held in place of scales_.
  void quantize_scales();
  [[nodiscard]] float value_at(int64_t row, int64_t col) const;

  void stream(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  [[nodiscard]] bool multiply(const LinearCall& call, const Outputs& outputs,
                              LinearWorkspace& workspace, const Context& context) const;
  void multiply_tile(const TiledProduct& product, int64_t output_tile, int64_t first_panel,
                     AlignedBuffer& weights, AlignedBuffer& scratch, Isa isa) const;
  // Panel by panel, each expanded, through the kernels of plain weights.
  void expand(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
              const Context& context) const;
  // [words][64] at `out`: the panel as one of plain weights in input_dtype().
  void expand_to(int64_t index, void* out, Isa isa) const;

  int64_t steps_ = 0, group_steps_ = 0, groups_ = 0, scale_blocks_ = 0;  // of a panel
  Buffer codes_;                                                         // [panels][steps] ...
  Buffer scales_, minimums_;     // [panels][groups][64] f32, see QuantizedPanel
  Buffer scale_codes_;           // [panels][groups][64] int8_t
  Buffer scale_steps_;           // [panels][scale_blocks] f32
  float scale_mean_ = 0.0f;
};

}  // namespace reprise::kernels::cpu
