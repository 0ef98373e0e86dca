// What the attention kernels of all instruction sets share: the scratch of a worker, visible
// ranges, and key addresses.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/kernels/cpu/attention_task.h"

namespace reprise::kernels::cpu {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr int kKeyRowSlack =
    24;  // score blocks round the key count up to a multiple of 6, 8, 12 or 24

// Views into one worker's scratch. Element types vary with the kernel, so sizes are those of f32.
struct TileScratch {
  void* q = nullptr;              // many lanes: [head_dim][64]; few: [8][padded head_dim]
  float* scores = nullptr;        // many: [keys][64]; few: [8][128]
  void* p = nullptr;              // bf16 weights in key pairs: many [pairs][64], few [8][pairs]
  void* k = nullptr;              // converted or padded keys [keys][padded_dim]
  void* v = nullptr;              // converted, padded or interleaved values [keys][padded_dim]
  float* o = nullptr;             // [64][padded_dim]
  float* m = nullptr;             // [64] in log2 units
  float* n = nullptr;             // [64]
  float* corr = nullptr;          // [64] exp2(m_old - m_new) of the current tile
  float* alibi_q = nullptr;       // [64]
  float* alibi_k = nullptr;       // [keys]
  int32_t* low = nullptr;         // [64]
  int32_t* high = nullptr;        // [64]
  const void** k_rows = nullptr;  // [keys + slack]
  const void** v_rows = nullptr;  // [keys + 1]
  int padded_dim = 0;             // head_dim rounded up to 16
  size_t bytes = 0;

  TileScratch(void* memory, int head_dim) : padded_dim((head_dim + 15) / 16 * 16) {
    const auto width = static_cast<size_t>((head_dim + 31) / 32 * 32);
    const auto carve = [&](auto*& pointer, size_t element_bytes, size_t count) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
          static_cast<char*>(memory) + bytes);
      bytes += (count * element_bytes + 63) / 64 * 64;
    };
    carve(q, 4, width * kLaneTile);
    carve(scores, 4, static_cast<size_t>(kKeyTile + kKeyRowSlack) * kLaneTile);
    carve(p, 4, static_cast<size_t>(kKeyTile) / 2 * kLaneTile);
    carve(k, 4, kKeyTile * width);
    carve(v, 4, kKeyTile * width);
    carve(o, 4, kLaneTile * width);
    for (float** row : {&m, &n, &corr, &alibi_q}) carve(*row, 4, kLaneTile);
    carve(alibi_k, 4, kKeyTile + kKeyRowSlack);
    carve(low, 4, kLaneTile);
    carve(high, 4, kLaneTile);
    carve(k_rows, sizeof(void*), kKeyTile + kKeyRowSlack);
    carve(v_rows, sizeof(void*), kKeyTile + 1);
  }
};

// Keys that any lane sees, and those that every lane sees.
struct VisibleRange {
  int begin = 0, end = 0;
  int all_low = 0, all_high = 0;
};

// Fills low, high, alibi_q and the initial m, n, o. Lanes up to the next multiple of 16 exist and
// see nothing.
inline VisibleRange prepare_lanes(const AttentionTask& task, const TileScratch& scratch) {
  VisibleRange range{.begin = task.tokens, .end = 0, .all_low = 0, .all_high = task.tokens};
  const int width = (task.lanes + 15) / 16 * 16;
  for (int lane = 0; lane < width; ++lane) {
    const bool is_real = lane < task.lanes;
    scratch.low[lane] = is_real ? task.low(lane) : 0;
    scratch.high[lane] = is_real ? task.high(lane) : 0;
    scratch.m[lane] = kMinusInfinity;
    scratch.n[lane] = 0.0f;
    scratch.corr[lane] = 0.0f;
    scratch.alibi_q[lane] =
        is_real && task.has_alibi ? task.alibi_term(task.row_positions[task.row_of(lane)]) : 0.0f;
    if (!is_real) continue;
    range.begin = std::min(range.begin, scratch.low[lane]);
    range.end = std::max(range.end, scratch.high[lane]);
    range.all_low = std::max(range.all_low, scratch.low[lane]);
    range.all_high = std::min(range.all_high, scratch.high[lane]);
  }
  std::memset(
      scratch.o, 0,
      static_cast<size_t>(task.lanes) * static_cast<size_t>(scratch.padded_dim) * sizeof(float));
  return range;
}

// Addresses of keys and values [first, first + keys), and the keys' ALiBi terms. The slack repeats
// the last key.
inline void gather_rows(const AttentionTask& task, const TileScratch& scratch, int first,
                        int keys) {
  const size_t element_bytes = size_of(task.kv_dtype);
  const auto* keys_base = static_cast<const char*>(task.keys);
  const auto* values_base = static_cast<const char*>(task.values);
  int64_t block = first / task.block_tokens;
  int in_block = first % task.block_tokens;
  for (int j = 0; j < keys; ++j) {
    const size_t byte = static_cast<size_t>(task.block_offsets[block] +
                                            static_cast<int64_t>(in_block) * task.head_dim) *
                        element_bytes;
    scratch.k_rows[j] = keys_base + byte;
    scratch.v_rows[j] = values_base + byte;
    if (++in_block == task.block_tokens) {
      in_block = 0;
      ++block;
    }
  }
  for (int j = keys; j < keys + kKeyRowSlack; ++j) scratch.k_rows[j] = scratch.k_rows[keys - 1];
  if (!task.has_alibi) return;
  for (int j = 0; j < keys; ++j)
    scratch.alibi_k[j] = task.alibi_term(task.first_position + first + j);
  std::fill(scratch.alibi_k + keys, scratch.alibi_k + keys + 15, 0.0f);
}

// Query row of a lane.
inline const float* query_of(const AttentionTask& task, int lane) {
  return task.q + task.row_of(lane) * task.q_row_stride +
         static_cast<int64_t>(task.head_of(lane)) * task.head_dim;
}

// Writes a lane's partial result.
inline void store_partial(const AttentionTask& task, const TileScratch& scratch, int lane) {
  constexpr float kLn2 = 0.693147180559945f;
  const int64_t entry = static_cast<int64_t>(task.row_of(lane)) * task.heads + task.head_of(lane);
  std::memcpy(task.partial_o + entry * task.head_dim, scratch.o + lane * scratch.padded_dim,
              static_cast<size_t>(task.head_dim) * sizeof(float));
  task.partial_m[entry] = scratch.m[lane] * kLn2;
  task.partial_n[entry] = scratch.n[lane];
}

// What o is multiplied by to be finished; 0 for a lane that saw no key.
inline float inverse_of(float n) { return n > 0.0f ? 1.0f / n : 0.0f; }

inline int64_t output_element(const AttentionTask& task, int lane) {
  return static_cast<int64_t>(task.row_of(lane)) * task.out_row_stride +
         static_cast<int64_t>(task.head_of(lane)) * task.head_dim;
}

}  // namespace reprise::kernels::cpu
