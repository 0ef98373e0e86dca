// Launches of the kernels that compute and apply attention maps on the device, and the arguments of
// these launches.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda {

// Consecutive keys of one block.
struct MapRun {
  // The first key and value: layer 0, head 0.
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t layer_stride = 0, head_stride = 0;  // in elements
  int32_t first_key = 0;                      // index of the first key among its row's keys
  int32_t tokens = 0;
  int32_t position = 0;  // position of the first key
};

// A tile: neighbouring rows that read the same runs, at most kMapTileRows rows.
inline constexpr int kMapTileRows = 64;
struct MapTile {
  int32_t first_row = 0, end_row = 0;
  int32_t first_run = 0, end_run = 0;
  int32_t seen = 0;  // largest number of keys that a row of the tile sees
};

// The keys and values that rows read; all arrays are in device memory.
struct MapKeys {
  const MapRun* runs = nullptr;
  const MapTile* tiles = nullptr;
  int64_t tile_count = 0;
  const int32_t* seen = nullptr;  // [rows]  the row sees the keys whose index is below this
  DType dtype = DType::kBF16;     // bf16 or f16
  int64_t layer = 0;
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;  // one of kHeadDims
};

// Does what kernels::attention_map() does, for the rows of the tiles. Queries are rounded to the
// cache's dtype; products of 16-bit numbers are exact; scores and weights are f32.
struct ComputeMap {
  MapKeys of;
  const float* q = nullptr;  // (row, head) at row * q_row_stride + head * head_dim
  int64_t q_row_stride = 0;
  float scale = 1.0f;
  int64_t window = 0;                  // > 0: keys at this distance and further are not seen
  const float* slopes = nullptr;       // [heads], or null: no ALiBi
  bool rounded_to_bf16 = false;        // AlibiView
  float factor = 1.0f;                 // AlibiView
  const int32_t* positions = nullptr;  // [rows]
  const float* bias = nullptr;         // laid out as map, or null
  float* map = nullptr;                // (head, row, key) at (head * rows + row) * keys + key
  int64_t rows = 0, keys = 0;
};
void compute_map(const ComputeMap& call, cudaStream_t stream);

// Does what kernels::apply_map() does, for the rows of the tiles. Weights are rounded to the
// cache's dtype; sums are f32.
struct ApplyMap {
  MapKeys of;
  // The map, in device memory, with the fields of MapView. Row 0 of the map is row first_row of the
  // step.
  const void* map = nullptr;
  DType map_dtype = DType::kF32;  // f32 or bf16; ignored with row_scales
  int64_t head_stride = 0, row_stride = 0;
  const float* row_scales = nullptr;
  int64_t scale_head_stride = 0;
  int64_t first_row = 0;
  void* out = nullptr;  // [rows, heads * head_dim]
  DType out_dtype = DType::kF32;
};
void apply_map(const ApplyMap& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
