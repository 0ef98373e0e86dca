// A product cut by shape into tiles that threads compute one by one, each by oneDNN on its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/kernels/cpu/product_onednn.h"
#include "core/kernels/linear.h"

namespace reprise::kernels::cpu {

// The tiles of out [m, n] = x [m, k] w (+ bias), or += with call.accumulate. A tile is computed
// beside its place, in memory that stays in a core's L2, and then copied or added: what oneDNN
// writes must have no gaps between its rows. Tiles depend on the shape alone, so the bits do not
// depend on the number of threads.
class TiledProduct {
 public:
  TiledProduct(const LinearCall& call, int64_t n, int64_t k, DType dtype, ProductCache& products);

  // False where oneDNN has no fast product for a tile.
  [[nodiscard]] bool is_fast() const;
  [[nodiscard]] int64_t tiles() const { return row_tiles_ * output_tiles_; }
  // Of [0, n), a multiple of 64.
  [[nodiscard]] int64_t first_output(int64_t tile) const { return tile / row_tiles_ * kOutputs; }
  // `panel` holds the weights from first_output(tile) on; `buffer` is this thread's, grown as
  // needed.
  void run(int64_t tile, const void* panel, AlignedBuffer& buffer) const;

  // 256 x 256 outputs in f32 take 256 KiB. Against one product on the whole shape, m 8 to 2048, n
  // and k 2048 and 5632, bf16, one thread of a Xeon with AVX512-BF16: 0.99 to 1.01 of its time.
  // Tiles of 128 x 128 took 1.03.
  static constexpr int64_t kRows = 256, kOutputs = 256;

 private:
  [[nodiscard]] bool is_last_row(int64_t tile) const { return tile % row_tiles_ == row_tiles_ - 1; }
  [[nodiscard]] bool is_last_output(int64_t tile) const {
    return tile / row_tiles_ == output_tiles_ - 1;
  }

  LinearCall call_;
  int64_t n_, k_;
  size_t in_bytes_;  // of an input value
  int64_t row_tiles_, output_tiles_;
  // [is_last_row][is_last_output]
  std::array<std::array<std::shared_ptr<const Product>, 2>, 2> products_;
};

}  // namespace reprise::kernels::cpu
