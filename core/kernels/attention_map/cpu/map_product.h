// Multiplies rows of an attention map with values, by the kernels of linear layers: the values are
// packed as a weight panel, and the map's rows are its inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/attention_map/row_keys.h"

namespace reprise::kernels::cpu {

// Consecutive rows of one head of a map, and the memory for their results.
struct MapProduct {
  const MapView* map = nullptr;
  int64_t head = 0;
  int64_t first_row = 0;  // row of the map
  // [rows]  number of keys that each row sees; these are the first keys of the map
  std::span<const int32_t> seen;
  void* out = nullptr;  // [head_dim] of row 0
  DType out_dtype = DType::kF32;
  int64_t out_stride = 0;  // elements between rows
};

// The packed values of one kv head. Each worker has one object and reuses its memory.
class MapProducts {
 public:
  // Packs the values of kv head `head` of a layer for the keys of `runs`, which begin at key 0 and
  // have no gap. The values stay bf16 if they are bf16 and the map's weights are bf16 or bytes,
  // which bf16 represents exactly; otherwise they become f32.
  void take_values(std::span<const KeyRun> runs, int64_t layer, int64_t head, const MapView& map);
  // out[r] = sum over k < seen[r] of map[r, k] * v_k. Sums are f32; a row's result does not depend
  // on the other rows. With bf16 values and AVX512-BF16, the bf16 dot product is used.
  void multiply(const MapProduct& product, Isa isa);

 private:
  void pack_f32(std::span<const KeyRun> runs, int64_t layer, int64_t head);
  void pack_bf16(std::span<const KeyRun> runs, int64_t layer, int64_t head);
  // Takes rows [first, first + rows) of the map, with zeros up to `keys` keys.
  void take_weights(const MapProduct& product, int64_t first, int64_t rows, int64_t keys,
                    DType dtype);
  void multiply_rows(const MapProduct& product, int64_t first, int64_t rows, Isa isa);
  void scale_and_store(const MapProduct& product, int64_t first, int64_t rows) const;
  [[nodiscard]] bool multiplies_bf16(Isa isa) const {
    return dtype_ == DType::kBF16 && has_bf16_dot(isa);
  }
  [[nodiscard]] int64_t panels() const { return (head_dim_ + 63) / 64; }

  DType dtype_ = DType::kF32;
  int64_t keys_ = 0, words_ = 0, head_dim_ = 0;  // a word has one key in f32, two in bf16
  AlignedBuffer panel_;                          // [panels, words, 64] f32, or pairs of bf16
  AlignedBuffer weights_;                        // [rows of a tile, keys] f32 or bf16
  std::vector<float> sums_;                      // [rows of a tile, head_dim], for maps in bytes
};

}  // namespace reprise::kernels::cpu
