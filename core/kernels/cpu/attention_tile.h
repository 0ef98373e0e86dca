// What the attention kernels of all instruction sets share: the scratch of a worker, visible
// ranges, and key addresses.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/kernels/cpu/attention_task.h"

namespace reprise::kernels::cpu {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// Score blocks round the key count up to a multiple of 4, 6, 8, 12, 16 or 24.
inline constexpr int kKeyRowSlack = 24;
// How many keys ahead of use the decode kernel fetches: 64 rows of 256 bytes are twice what DRAM
// latency times bandwidth of a core needs, and the two streams ahead still fit L1.
inline constexpr int kKeysAhead = 64;

// Keys that any lane sees, and those that every lane sees.
struct VisibleRange {
  int begin = 0, end = 0;
  int all_low = 0, all_high = 0;

  // Whether keys [first, first + keys) need no mask.
  [[nodiscard]] bool covers(int first, int keys) const {
    return first >= all_low && first + keys <= all_high;
  }
};

// Views into one worker's scratch. Element types vary with the kernel, so sizes are those of f32.
// What a lane keeps from one key tile to the next is there for all lanes of a task; the rest serves
// one lane tile at a time.
struct TileScratch {
  // Of every lane of the task.
  void* q = nullptr;         // many lanes: [tiles][head_dim][64]; few: [8][padded head_dim]
  float* o = nullptr;        // [lanes][padded_dim]
  float* m = nullptr;        // [lanes] in log2 units
  float* n = nullptr;        // [lanes]
  float* alibi_q = nullptr;  // [lanes]
  int32_t* low = nullptr;    // [lanes]
  int32_t* high = nullptr;   // [lanes]
  // Of the key tile.
  const void** k_rows = nullptr;  // [keys + ahead + slack]
  const void** v_rows = nullptr;  // [keys + ahead + slack]
  float* alibi_k = nullptr;       // [keys]
  void* k = nullptr;              // converted or padded keys [keys][padded_dim]
  void* v = nullptr;              // converted, padded or interleaved values [keys][padded_dim]
  // Of the lane tile and the key tile.
  float* scores = nullptr;  // many: [keys][64]; few: [8][128]
  void* p = nullptr;        // bf16 weights in key pairs: many [pairs][64], few [8][pairs]
  float* corr = nullptr;    // [64] exp2(m_old - m_new)

  int padded_dim = 0;  // head_dim rounded up to 16
  size_t bytes = 0;

  TileScratch(void* memory, int head_dim) : padded_dim((head_dim + 15) / 16 * 16) {
    const auto width = static_cast<size_t>((head_dim + 31) / 32 * 32);
    const auto carve = [&](auto*& pointer, size_t element_bytes, size_t count) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
          static_cast<char*>(memory) + bytes);
      bytes += (count * element_bytes + 63) / 64 * 64;
    };
    carve(q, 4, width * kTaskLanes);
    carve(o, 4, width * kTaskLanes);
    for (float** row : {&m, &n, &alibi_q}) carve(*row, 4, kTaskLanes);
    carve(low, 4, kTaskLanes);
    carve(high, 4, kTaskLanes);
    carve(k_rows, sizeof(void*), kKeyTile + kKeysAhead + kKeyRowSlack);
    carve(v_rows, sizeof(void*), kKeyTile + kKeysAhead + kKeyRowSlack);
    carve(alibi_k, 4, kKeyTile + kKeyRowSlack);
    carve(k, 4, kKeyTile * width);
    carve(v, 4, kKeyTile * width);
    carve(scores, 4, static_cast<size_t>(kKeyTile + kKeyRowSlack) * kLaneTile);
    carve(p, 4, static_cast<size_t>(kKeyTile) / 2 * kLaneTile);
    carve(corr, 4, kLaneTile);
  }
};

// Fills low, high, alibi_q and the initial m, n, o of lanes [first_lane, first_lane + lanes) of the
// task. Lanes up to the next multiple of 16 exist and see nothing.
inline VisibleRange prepare_lanes(const AttentionTask& task, const TileScratch& scratch,
                                  int first_lane, int lanes) {
  VisibleRange range{.begin = task.tokens, .end = 0, .all_low = 0, .all_high = task.tokens};
  const int end_lane = first_lane + (lanes + 15) / 16 * 16;
  for (int lane = first_lane; lane < end_lane; ++lane) {
    const bool is_real = lane < first_lane + lanes;
    scratch.low[lane] = is_real ? task.low(lane) : 0;
    scratch.high[lane] = is_real ? task.high(lane) : 0;
    scratch.m[lane] = kMinusInfinity;
    scratch.n[lane] = 0.0f;
    scratch.alibi_q[lane] =
        is_real && task.has_alibi ? task.alibi_term(task.row_positions[task.row_of(lane)]) : 0.0f;
    if (!is_real) continue;
    range.begin = std::min(range.begin, scratch.low[lane]);
    range.end = std::max(range.end, scratch.high[lane]);
    range.all_low = std::max(range.all_low, scratch.low[lane]);
    range.all_high = std::min(range.all_high, scratch.high[lane]);
  }
  std::memset(scratch.o + static_cast<size_t>(first_lane) * static_cast<size_t>(scratch.padded_dim),
              0,
              static_cast<size_t>(lanes) * static_cast<size_t>(scratch.padded_dim) * sizeof(float));
  return range;
}

// Addresses of keys and values [first, first + count) of the segment.
inline void gather_rows(const AttentionTask& task, const TileScratch& scratch, int first,
                        int count) {
  const size_t element_bytes = size_of(task.kv_dtype);
  const size_t row_bytes = static_cast<size_t>(task.head_dim) * element_bytes;
  for (int j = 0; j < count;) {
    const int block = (first + j) / task.block_tokens, in_block = (first + j) % task.block_tokens;
    const int run = std::min(count - j, task.block_tokens - in_block);
    const size_t byte = static_cast<size_t>(task.block_offsets[block]) * element_bytes +
                        static_cast<size_t>(in_block) * row_bytes;
    const char* key = static_cast<const char*>(task.keys) + byte;
    const char* value = static_cast<const char*>(task.values) + byte;
    for (const int end = j + run; j < end; ++j, key += row_bytes, value += row_bytes) {
      scratch.k_rows[j] = key;
      scratch.v_rows[j] = value;
    }
  }
}

// Repeats the tile's last key in the slack, so that score blocks may round up.
inline void repeat_last_key(const TileScratch& scratch, int keys) {
  for (int j = keys; j < keys + kKeyRowSlack; ++j) scratch.k_rows[j] = scratch.k_rows[keys - 1];
}

inline void gather_alibi(const AttentionTask& task, const TileScratch& scratch, int first,
                         int keys) {
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

// One lane tile of a task.
struct LaneTile {
  int first = 0, lanes = 0;
  VisibleRange range;
};

// Visits every key tile once, and with it every lane tile that sees some of its keys:
//   load(first, keys)                   addresses are gathered; convert or interleave what all lane
//   tiles share compute(tile, index, first, keys)   keys [first, first + keys) against one lane
//   tile
template <typename Load, typename Compute>
void visit_tiles(const AttentionTask& task, const TileScratch& scratch, Load&& load,
                 Compute&& compute) {
  LaneTile tiles[kTaskTiles];
  const int count = (task.lanes + kLaneTile - 1) / kLaneTile;
  int begin = task.tokens, end = 0;
  for (int i = 0; i < count; ++i) {
    tiles[i].first = i * kLaneTile;
    tiles[i].lanes = std::min(kLaneTile, task.lanes - tiles[i].first);
    tiles[i].range = prepare_lanes(task, scratch, tiles[i].first, tiles[i].lanes);
    begin = std::min(begin, tiles[i].range.begin);
    end = std::max(end, tiles[i].range.end);
  }
  for (int first = begin / kKeyTile * kKeyTile; first < end; first += kKeyTile) {
    const int keys = std::min(kKeyTile, end - first);
    load(first, keys);
    gather_alibi(task, scratch, first, keys);
    for (int i = 0; i < count; ++i) {
      const int visible = std::min(keys, tiles[i].range.end - first);
      if (visible > 0 && first + keys > tiles[i].range.begin) compute(tiles[i], i, first, visible);
    }
  }
}

}  // namespace reprise::kernels::cpu
