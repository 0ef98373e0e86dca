#include "core/kernels/linear/cpu/tiled_product.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t kPanel = 64;  // outputs of a panel of weights

constexpr int64_t tiles_of(int64_t length, int64_t tile) { return (length + tile - 1) / tile; }

// Length of the last tile, 1 to `tile`.
constexpr int64_t rest_of(int64_t length, int64_t tile) { return (length - 1) % tile + 1; }

void add_row(const float* tile, int64_t outputs, float* out) {
  for (int64_t i = 0; i < outputs; ++i) out[i] += tile[i];
}

// Returns the tile shape for products of few rows, which read the weights once. Tiles have many
// outputs, but few enough to keep every thread of a large machine busy. A tile has at least 10 us
// of work, because oneDNN needs 2 us for each call.
TileShape tile_of_few_rows(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kWantedTiles = 64, kLeastProducts = 1 << 20, kMostOutputs = 1 << 16;
  const int64_t least = kLeastProducts / (m * k) + 1;
  int64_t outputs = std::min(std::max(n / kWantedTiles, least), kMostOutputs / m);
  if (outputs >= n && m * n * k >= kLeastProducts / 2) outputs = n / 2;  // for at least two threads
  return {.rows = m, .outputs = tiles_of(std::max<int64_t>(outputs, 1), kPanel) * kPanel};
}

}  // namespace

// Tiles of 256 x 256 outputs take 0.99 to 1.01 of the time of a single product of the whole shape;
// tiles of 128 x 128 take 1.03. (m 8 to 2048, n and k 2048 and 5632, bf16, one thread of a Xeon
// with AVX512-BF16.) Small shapes are divided further, so that several threads have work, but not
// into tiles of less than a few microseconds.
TileShape tile_shape(int64_t m, int64_t n, int64_t k, int64_t weight_bytes) {
  constexpr int64_t kMost = 256, kLeastRows = 32, kFewRows = 64, kWantedTiles = 16;
  constexpr int64_t kLeastProducts = 1 << 19, kCachedBytes = 1 << 20;
  if (weight_bytes <= kCachedBytes && m >= kLeastRows) {
    const int64_t unit = m < 128 ? 8 : kLeastRows;
    const int64_t rows = tiles_of(tiles_of(m, m < 128 ? 2 : kWantedTiles), unit) * unit;
    return {.rows = std::min(rows, kMost), .outputs = n};
  }
  if (m <= kFewRows) return tile_of_few_rows(m, n, k);
  TileShape tile{.rows = kMost, .outputs = kMost};
  const auto is_coarse = [&] {
    return tiles_of(m, tile.rows) * tiles_of(n, tile.outputs) < kWantedTiles &&
           std::min(m, tile.rows) * std::min(n, tile.outputs) * k >= 2 * kLeastProducts;
  };
  while (tile.outputs > kPanel && is_coarse()) tile.outputs /= 2;
  while (tile.rows > kLeastRows && is_coarse()) tile.rows /= 2;
  return tile;
}

namespace {

TileShape shape_of(int64_t m, const ProductWeights& w) {
  if (!w.are_made)
    return tile_shape(m, w.n, w.k, w.n * w.k * static_cast<int64_t>(size_of(w.dtype)));
  // Tiles are chosen as for a matrix that fits no cache, and are then divided along the outputs, so
  // that several threads have tiles.
  TileShape shape = tile_shape(m, w.n, w.k, std::numeric_limits<int64_t>::max());
  constexpr int64_t kWantedTiles = 16, kMadeBytes = 1 << 19;
  const int64_t output_bytes = w.k * static_cast<int64_t>(size_of(w.dtype));
  while (shape.outputs > kPanel &&
         (tiles_of(w.n, shape.outputs) < kWantedTiles || shape.outputs * output_bytes > kMadeBytes))
    shape.outputs = tiles_of(shape.outputs / 2, kPanel) * kPanel;
  return shape;
}

}  // namespace

TiledProduct::TiledProduct(const LinearCall& call, const ProductWeights& weights,
                           ProductCache& products)
    : call_(call),
      n_(weights.n),
      k_(weights.k),
      in_bytes_(size_of(weights.dtype)),
      shape_(shape_of(call.m, weights)),
      row_tiles_(tiles_of(call.m, shape_.rows)),
      output_tiles_(tiles_of(n_, shape_.outputs)) {
  for (const bool last_row : {false, true})
    for (const bool last_output : {false, true}) {
      if ((!last_row && row_tiles_ == 1) || (!last_output && output_tiles_ == 1)) continue;
      auto& product = products_[last_row][last_output];
      product = products.get({.m = last_row ? rest_of(call.m, shape_.rows) : shape_.rows,
                              .n = last_output ? rest_of(n_, shape_.outputs) : shape_.outputs,
                              .k = k_,
                              .dtype = weights.dtype,
                              .out_dtype = call.out_dtype,
                              .has_bias = call.bias != nullptr,
                              .accumulate = call.accumulate && is_in_place()});
      is_fast_ = is_fast_ && product != nullptr;
    }
}

bool TiledProduct::is_fast() const { return is_fast_; }

void TiledProduct::run(int64_t tile, const void* panel, AlignedBuffer& buffer) const {
  const Product& product = *products_[is_last_row(tile)][is_last_output(tile)];
  const int64_t first_row = tile % row_tiles_ * shape_.rows,
                first_output = this->first_output(tile);
  const int64_t rows = std::min(shape_.rows, call_.m - first_row);
  const int64_t outputs = std::min(shape_.outputs, n_ - first_output);
  const size_t out_bytes = size_of(call_.out_dtype);
  const size_t tile_bytes =
      is_in_place() ? 0 : static_cast<size_t>(shape_.rows * shape_.outputs) * sizeof(float);
  if (const size_t needed = tile_bytes + product.scratchpad_bytes(); buffer.bytes() < needed)
    buffer = AlignedBuffer(needed);
  const char* x =
      static_cast<const char*>(call_.x) + static_cast<size_t>(first_row * k_) * in_bytes_;
  const float* bias = call_.bias == nullptr ? nullptr : call_.bias + first_output;
  char* out = static_cast<char*>(call_.out) +
              static_cast<size_t>(first_row * n_ + first_output) * out_bytes;
  char* computed = is_in_place() ? out : buffer.as<char>();
  product.run(x, panel, bias, computed, buffer.as<char>() + tile_bytes);
  if (is_in_place()) return;
  const size_t row_bytes = static_cast<size_t>(outputs) * out_bytes;
  for (int64_t row = 0; row < rows;
       ++row, computed += row_bytes, out += static_cast<size_t>(n_) * out_bytes) {
    if (call_.accumulate) {
      add_row(reinterpret_cast<const float*>(computed), outputs, reinterpret_cast<float*>(out));
    } else {
      std::memcpy(out, computed, row_bytes);
    }
  }
}

}  // namespace reprise::kernels::cpu
