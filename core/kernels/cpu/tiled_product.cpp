#include "core/kernels/cpu/tiled_product.h"

#include <algorithm>
#include <cstring>

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t tiles_of(int64_t length, int64_t tile) { return (length + tile - 1) / tile; }

// Of the last tile, 1 to `tile`.
constexpr int64_t rest_of(int64_t length, int64_t tile) { return (length - 1) % tile + 1; }

void add_row(const float* tile, int64_t outputs, float* out) {
  for (int64_t i = 0; i < outputs; ++i) out[i] += tile[i];
}

}  // namespace

TiledProduct::TiledProduct(const LinearCall& call, int64_t n, int64_t k, DType dtype,
                           ProductCache& products)
    : call_(call),
      n_(n),
      k_(k),
      in_bytes_(size_of(dtype)),
      row_tiles_(tiles_of(call.m, kRows)),
      output_tiles_(tiles_of(n, kOutputs)) {
  for (const bool last_row : {false, true})
    for (const bool last_output : {false, true}) {
      if ((!last_row && row_tiles_ == 1) || (!last_output && output_tiles_ == 1)) continue;
      products_[last_row][last_output] =
          products.get({.m = last_row ? rest_of(call.m, kRows) : kRows,
                        .n = last_output ? rest_of(n, kOutputs) : kOutputs,
                        .k = k,
                        .dtype = dtype,
                        .out_dtype = call.out_dtype,
                        .has_bias = call.bias != nullptr});
    }
}

bool TiledProduct::is_fast() const {
  for (const bool last_row : {false, true})
    for (const bool last_output : {false, true}) {
      if ((!last_row && row_tiles_ == 1) || (!last_output && output_tiles_ == 1)) continue;
      if (products_[last_row][last_output] == nullptr) return false;
    }
  return true;
}

void TiledProduct::run(int64_t tile, const void* panel, AlignedBuffer& buffer) const {
  const Product& product = *products_[is_last_row(tile)][is_last_output(tile)];
  const int64_t first_row = tile % row_tiles_ * kRows, first_output = this->first_output(tile);
  const int64_t rows = std::min(kRows, call_.m - first_row);
  const int64_t outputs = std::min(kOutputs, n_ - first_output);
  const size_t out_bytes = size_of(call_.out_dtype);
  const auto tile_bytes = static_cast<size_t>(kRows * kOutputs) * sizeof(float);
  if (const size_t needed = tile_bytes + product.scratchpad_bytes(); buffer.bytes() < needed)
    buffer = AlignedBuffer(needed);
  const char* x =
      static_cast<const char*>(call_.x) + static_cast<size_t>(first_row * k_) * in_bytes_;
  const float* bias = call_.bias == nullptr ? nullptr : call_.bias + first_output;
  char* out = static_cast<char*>(call_.out) +
              static_cast<size_t>(first_row * n_ + first_output) * out_bytes;
  const bool in_place = outputs == n_ && !call_.accumulate;
  char* computed = in_place ? out : buffer.as<char>();
  product.run(x, panel, bias, computed, buffer.as<char>() + tile_bytes);
  if (in_place) return;
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
