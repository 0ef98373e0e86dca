// A matrix product divided into tiles, which threads compute one by one with oneDNN.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/kernels/linear/cpu/product_onednn.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

struct TileShape {
  int64_t rows = 0, outputs = 0;
};
// Returns the shape of the tiles into which out [m, n] = x [m, k] w is divided. It depends only on
// the arguments, so the bits of `out` do not depend on the number of threads. If m >= 32 and w has
// at most 1 MiB (`weight_bytes`), w stays in a core's L2: tiles are whole rows of `out`, written in
// place. Otherwise a tile is part of some rows and has about 256 KiB at most; all tiles that need
// the same weights are computed before the next weights are read.
[[nodiscard]] TileShape tile_shape(int64_t m, int64_t n, int64_t k, int64_t weight_bytes);

// The weights of a product.
struct ProductWeights {
  int64_t n = 0, k = 0;  // outputs and inputs
  DType dtype = DType::kF32;
  // True if the weights of a tile are expanded from codes. A thread then computes all rows of a
  // tile's outputs, and outputs are divided into enough tiles for several threads.
  bool are_made = false;
};

// The tiles of out [m, n] = x [m, k] w (+ bias), or += with call.accumulate. A tile that covers
// only parts of rows is computed in a buffer that stays in the core's L2, and is then copied or
// added to `out`, because oneDNN writes only rows without gaps.
class TiledProduct {
 public:
  TiledProduct(const LinearCall& call, const ProductWeights& weights, ProductCache& products);

  // False if oneDNN has no fast product for a tile.
  [[nodiscard]] bool is_fast() const;
  [[nodiscard]] int64_t tiles() const { return row_tiles_ * output_tiles_; }
  // Tile i combines row tile i % row_tiles() with output tile i / row_tiles().
  [[nodiscard]] int64_t row_tiles() const { return row_tiles_; }
  [[nodiscard]] int64_t output_tiles() const { return output_tiles_; }
  // First output of a tile in [0, n), a multiple of 64.
  [[nodiscard]] int64_t first_output(int64_t tile) const {
    return tile / row_tiles_ * shape_.outputs;
  }
  [[nodiscard]] int64_t outputs_of(int64_t tile) const {
    return is_last_output(tile) ? n_ - first_output(tile) : shape_.outputs;
  }
  // Computes a tile. `panel` points to the weights of outputs from first_output(tile) on. `buffer`
  // belongs to the calling thread and grows as needed.
  void run(int64_t tile, const void* panel, AlignedBuffer& buffer) const;

 private:
  [[nodiscard]] bool is_in_place() const { return output_tiles_ == 1; }
  [[nodiscard]] bool is_last_row(int64_t tile) const { return tile % row_tiles_ == row_tiles_ - 1; }
  [[nodiscard]] bool is_last_output(int64_t tile) const {
    return tile / row_tiles_ == output_tiles_ - 1;
  }

  LinearCall call_;
  int64_t n_, k_;
  size_t in_bytes_;  // bytes of an input value
  TileShape shape_;
  int64_t row_tiles_, output_tiles_;
  // [is_last_row][is_last_output]; null if there is no such tile.
  std::array<std::array<std::shared_ptr<const Product>, 2>, 2> products_;
  bool is_fast_ = true;
};

}  // namespace reprise::kernels::cpu
