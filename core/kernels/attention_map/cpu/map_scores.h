// Computes the scores of a group of rows with all of their keys, by the kernel of linear layers:
// the keys are packed as a weight panel, and the queries are its inputs.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/buffer.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/attention_map/row_keys.h"

namespace reprise::kernels::cpu {

// The packed keys of one kv head. Each worker has one object and reuses its memory.
class MapScores {
 public:
  // Packs, as f32, the keys that kv head `head` of a layer has in `runs`, which begin at key 0 and
  // have no gap.
  void take_keys(std::span<const KeyRun> runs, int64_t layer, int64_t head);
  // Computes scores[r, k] = <q_r, key_k> of query head `head`, in f32, for rows [first_row,
  // end_row) of q and all packed keys. Row r begins at scores + (r - first_row) * stride.
  void multiply(const QueryView& q, int64_t head, int64_t first_row, int64_t end_row, float* scores,
                int64_t stride, Isa isa);

 private:
  int64_t keys_ = 0, head_dim_ = 0;
  AlignedBuffer panel_;    // [keys / 64, head_dim, 64] f32
  AlignedBuffer queries_;  // [rows of a tile, head_dim] f32
};

}  // namespace reprise::kernels::cpu
