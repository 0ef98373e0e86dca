// Plain weights (not codes) on the CPU, in panels of 64 outputs.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cpu {

//   f32:  panel[k][64],  bf16: panel[k / 2][64][2]
//   Zeros pad k to a multiple of 16 (f32) or 32 (bf16), and the outputs to a multiple of 64.
// A product of one row reads a panel from front to back, and products of many rows keep a part of a
// panel in a cache. One copy must serve both, because a 7B model in bf16 leaves no room for two.
class Panels final : public WeightStore {
 public:
  static constexpr int64_t kOutputs = kPanelOutputs;

  Panels(int64_t rows, int64_t cols, WeightFormat format, const Weight::FillRows& fill,
         const Context& context);

  [[nodiscard]] const void* panel(int64_t index) const;
  [[nodiscard]] int64_t panels() const { return (rows() + kOutputs - 1) / kOutputs; }

  [[nodiscard]] size_t bytes() const override { return data_.bytes(); }
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

 private:
  void stream(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
              const Context& context) const;
  void multiply_in_tiles(const LinearCall& call, const Outputs& outputs, LinearWorkspace& workspace,
                         const Context& context) const;

  int64_t words_ = 0;  // 32-bit words (one f32, or two bf16) of a panel for each output
  Buffer data_;
};

}  // namespace reprise::kernels::cpu
