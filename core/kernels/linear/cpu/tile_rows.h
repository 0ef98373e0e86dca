// Multiplies the input rows of a call with panels of bf16 weights in AMX's tiles.
#pragma once

#include <cstdint>

#include "core/kernels/linear/cpu/panel_rows.h"

namespace reprise::kernels::cpu {

// Inputs [first, end) of rows of `cols`; first is a multiple of 32.
struct InputBlock {
  int64_t cols = 0, first = 0, end = 0;
};

class TileRows {
 public:
  // Most inputs of a block. For f32 outputs, to which the products of several blocks can be added,
  // it is small enough that 256 rows of a block's inputs fit into the L2. For other outputs, it is
  // `cols` rounded up to a multiple of 32. It does not depend on the number of rows, so a row's
  // bits do not depend on that number either.
  [[nodiscard]] static int64_t most_inputs(DType out_dtype, int64_t cols);

  // Copies the block's inputs of the call's x [m, cols] to `workspace`, as bf16 tiles. The first
  // block adds the bias to its products; later blocks add their products to `out`. The call must
  // outlive this object.
  TileRows(const LinearCall& call, const InputBlock& inputs, LinearWorkspace& workspace,
           const Context& context);

  // Number of parts into which the rows are divided. A part fits a core's L2 beside two panels.
  [[nodiscard]] int64_t parts() const { return (call_.m + part_rows_ - 1) / part_rows_; }
  // Computes, for the rows of a part, those of `outputs` that belong to panel `index`. `weights`
  // [words][64][2] is this panel, for the block's inputs. `next` is the panel that this thread will
  // probably compute next; it is prefetched.
  void run(int64_t part, int64_t index, const Outputs& outputs, const void* weights,
           const void* next) const;

 private:
  const LinearCall& call_;
  InputBlock inputs_;
  int64_t words_;      // words (pairs) of the block's inputs, with padding
  int64_t part_rows_;  // a multiple of 32
  WeightFetch fetch_;
  const char* tiles_;  // [m / 16][words / 16][16][32] bf16
};

}  // namespace reprise::kernels::cpu
