// A matrix stored as codes, in panels of 64 outputs.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/kernels/linear/cpu/quantized_panel.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels::cpu {

class CodedMatrix {
 public:
  // Makes the codes of the matrix that `fill` writes. Each thread reads 64 rows at a time as f32,
  // turns each weight into a code of one byte, and then packs the codes. Throws NotFiniteError if a
  // row contains NaN or infinity.
  CodedMatrix(int64_t rows, int64_t cols, WeightFormat format, const Weight::FillRows& fill,
              const Context& context);

  [[nodiscard]] int64_t panels() const;
  [[nodiscard]] QuantizedPanel panel(int64_t index) const;               // borrowed
  [[nodiscard]] int64_t inputs() const { return steps_ * kStepInputs; }  // cols plus padding
  [[nodiscard]] int64_t group_inputs() const { return group_steps_ * kStepInputs; }
  [[nodiscard]] size_t bytes() const;
  // Returns the weight that the code at (row, col) represents.
  [[nodiscard]] float value_at(int64_t row, int64_t col) const;

 private:
  class Filler;
  // For nf4-double: replaces scales_ by scale_codes_, scale_steps_ and scale_mean_.
  void quantize_scales(const Context& context);
  [[nodiscard]] float mean_scale() const;  // mean of the scales, without padding

  int64_t rows_, cols_;
  WeightFormat format_;
  int64_t steps_, group_steps_, groups_, scale_blocks_;  // of each panel
  Buffer codes_;                                         // [panels][steps] ...
  Buffer scales_, minimums_;                             // [panels][groups][64] f32
  Buffer scale_codes_;                                   // [panels][groups][64] int8_t
  Buffer scale_steps_;                                   // [panels][scale_blocks] f32
  float scale_mean_ = 0.0f;
};

}  // namespace reprise::kernels::cpu
