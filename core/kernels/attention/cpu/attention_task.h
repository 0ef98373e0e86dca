// The task that an attention kernel runs at once: lanes of query rows against keys of one segment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/dtype.h"
#include "core/device/cpu.h"
#include "core/device/fetch_setting.h"
#include "core/kernels/attention/tiling.h"

namespace reprise::kernels::cpu {

// A lane is one pair of a row and a query head. A task computes lanes of one work item for one kv
// head: lane j of the item is row j / group, head first_head + j % group, so that query heads which
// share a kv head share each key that is loaded. Lanes are computed in tiles of kLaneTile; a task
// has up to kTaskTiles tiles, which share converted keys and values. With few lanes (decode), a
// task may instead take several kv heads ("units"), one after the other in each key tile. The kv
// heads of a paged block follow one another in memory, so such a task reads longer runs of memory.
inline constexpr int kLaneTile = 64;
inline constexpr int kTaskTiles = 4;
inline constexpr int kTaskLanes = kLaneTile * kTaskTiles;
inline constexpr int kMaxHeadDim = 256;
// With few lanes, up to kMostUnitsTogether units are read together if their rows follow one another
// in each block and a block has less than kRunBytes bytes of one unit.
inline constexpr int kMostUnitsTogether = 16;
inline constexpr size_t kRunBytes = size_t{64} << 10;
// The most units that may be read together if each has `lanes` lanes. A worker's scratch limits
// this number, because it has room for the scores and weights of one lane tile.
constexpr int most_units_together(int lanes) {
  return std::min(kMostUnitsTogether, kLaneTile / lanes);
}
static_assert(most_units_together(kFewLanes) > 1, "grouped queries read several units together");
// A part of a key tile that is computed separately has a multiple of kPartTokens tokens.
inline constexpr int kPartTokens = 16;

struct AttentionTask {
  // Queries.
  const float* q = nullptr;  // row 0 of the item, head 0
  int64_t q_row_stride = 0;
  int first_head = 0, group = 1;
  int first_lane = 0, lanes = 0;  // lanes: sum over the task's units, <= kTaskLanes
  int units = 1;                  // kv heads; more than 1 only with few lanes
  int head_dim = 0;

  // Keys and values of the layer, at the first unit's kv head.
  const char* keys = nullptr;
  const char* values = nullptr;
  size_t unit_bytes = 0;  // distance from one unit to the next
  DType kv_dtype = DType::kF32;
  const int64_t* block_offsets = nullptr;
  int block_tokens = 0;
  int skipped = 0;  // tokens of the first block that precede the segment's token 0
  int tokens = 0;
  int first_key = 0, end_key = 0;  // the task's keys, within the segment's tokens
  FetchSetting fetch;              // prefetch setting, used with few lanes
  // True: the kernel for many lanes computes this task even if it has few lanes. It is set for all
  // tasks of an item of many lanes, the last of which may have few, and for all tasks that must be
  // batch-invariant, because in this kernel a lane's bits do not depend on the other lanes. Needs
  // units == 1.
  bool takes_all_as_many = false;

  // A lane sees the keys [low(lane), high(lane)). With is_causal, high is min(end_key, visible +
  // row), else end_key. low follows from first_key and `window`.
  bool is_causal = false;
  int visible = 0;
  int64_t window = 0;
  int first_position = 0;
  const int32_t* row_positions = nullptr;  // [rows of the item]

  // Scores are base-2 logarithms: q is multiplied by scale * log2(e) before the products. With
  // ALiBi, a unit is one query head instead of one KV head, and a score also gets
  // alibi_factor(unit) * (alibi_term(k_position, unit) - alibi_term(q_position, unit)).
  float scale_log2 = 1.0f;
  bool has_alibi = false;
  bool alibi_rounded = false;
  const float* alibi_slopes = nullptr;  // [units]
  float alibi_log2 = 1.0f;              // log2(e); times the model's factor if alibi_rounded

  // The result: finished rows, or partial results of the item.
  void* out = nullptr;  // row 0 of the item, head 0
  DType out_dtype = DType::kF32;
  int64_t out_row_stride = 0;
  float* partial_o = nullptr;  // entry (row, head) of the item at row * heads + head
  float* partial_m = nullptr;
  float* partial_n = nullptr;
  // If not null, each partial result is merged into the entry of its row and head under the entry's
  // lock, see reduce_partial().
  uint8_t* partial_locks = nullptr;
  int heads = 0;

  [[nodiscard]] int unit_lanes() const { return lanes / units; }
  // True: the kernels for few lanes compute the task.
  [[nodiscard]] bool has_few_lanes() const {
    return unit_lanes() <= kFewLanes && !takes_all_as_many;
  }
  [[nodiscard]] int row_of(int lane) const { return (first_lane + lane % unit_lanes()) / group; }
  [[nodiscard]] int head_of(int lane) const {
    return first_head + lane / unit_lanes() * group + (first_lane + lane % unit_lanes()) % group;
  }
  // tile_begin(): the first key of the key tile that contains `key`. tile_end(): the end of that
  // tile.
  [[nodiscard]] int tile_begin(int key) const {
    const int begin = (skipped + key) / kKeyTile * kKeyTile - skipped;
    return begin < 0 ? 0 : begin;
  }
  [[nodiscard]] int tile_end(int key) const {
    return ((skipped + key) / kKeyTile + 1) * kKeyTile - skipped;
  }
  // True if the rows of keys and values lie in whole groups of kRowGroup from the first key on.
  [[nodiscard]] bool has_whole_groups() const {
    return (block_tokens % kRowGroup == 0 && skipped % kRowGroup == 0) ||
           skipped + tokens <= block_tokens;
  }
  // Number of units that are read together. It is 1 if their rows do not follow one another in a
  // block, if parts of blocks cannot be computed separately, or if the kernel converts rows or
  // reads them repeatedly.
  [[nodiscard]] int units_together() const {
    const size_t row_bytes = static_cast<size_t>(head_dim) * size_of(kv_dtype);
    const auto block_rows = static_cast<size_t>(block_tokens);
    if (block_tokens % kPartTokens != 0 || skipped % kPartTokens != 0 ||
        unit_bytes != block_rows * row_bytes || unit_lanes() > kFewLanes ||
        kv_dtype == DType::kF16 || (kv_dtype == DType::kF32 && unit_lanes() > 1))
      return 1;
    const size_t run = std::min(block_rows, static_cast<size_t>(kKeyTile)) * row_bytes;
    const auto most = static_cast<int>((kRunBytes + run - 1) / run);
    return std::clamp(most, 1, std::min(units, most_units_together(unit_lanes())));
  }
  // The lane sees keys [low, high) of the segment.
  [[nodiscard]] int high(int lane) const {
    if (!is_causal) return end_key;
    const int64_t seen = static_cast<int64_t>(visible) + row_of(lane);
    return static_cast<int>(seen < 0 ? 0 : seen < end_key ? seen : end_key);
  }
  [[nodiscard]] int low(int lane) const {
    if (window == 0) return first_key;
    const int64_t first = row_positions[row_of(lane)] - window + 1 - first_position;
    return static_cast<int>(first < first_key ? first_key : first < tokens ? first : tokens);
  }
  [[nodiscard]] float alibi_factor(int unit) const {
    return alibi_rounded ? alibi_log2 : alibi_log2 * alibi_slopes[unit];
  }
  // Returns the position itself, or with alibi_rounded (Falcon) bf16(slope * bf16(position)).
  [[nodiscard]] float alibi_term(int position, int unit) const {
    const float exact = static_cast<float>(position);
    if (!alibi_rounded) return exact;
    return bf16(static_cast<float>(bf16(alibi_slopes[unit])) * static_cast<float>(bf16(exact)));
  }
};

// The partial results of one query row, and the memory for the merged row.
struct MergeRow {
  std::span<const int64_t> entries;  // [parts]  entry of the row's head 0 in o, m and n
  const float* o = nullptr;          // [entries, head_dim]
  const float* m = nullptr;          // [entries]
  const float* n = nullptr;          // [entries]
  int heads = 0, head_dim = 0;
  void* out = nullptr;  // [heads, head_dim]
  DType out_dtype = DType::kF32;
  float* weights = nullptr;  // [parts * 16] scratch, aligned to 64 bytes
};
// out = sum_i w_i o_i / sum_i w_i n_i with w_i = exp(m_i - max_j m_j), for each head; 0 if no part
// saw a key.
void merge_row(const MergeRow& row, Isa isa);

// Merges a lane's partial result (o [head_dim], m, n) into entry `entry` of the task's partial
// results, and holds the entry's lock meanwhile. m is in natural logarithm units. [ChunkAttention
// §3.3, eq. 2]
void reduce_partial(const AttentionTask& task, int64_t entry, const float* o, float m, float n);

// Bytes of scratch that suffice for any task with this head_dim.
size_t attention_scratch_bytes(int head_dim);

// Each function below runs a task; `scratch` is aligned to 64 bytes. The two functions for
// AVX512-BF16 need bf16 keys, that instruction set and an even head_dim.
void attention_avx512_bf16(const AttentionTask& task, void* scratch);
void attention_few_avx512_bf16(const AttentionTask& task, void* scratch);  // lanes <= kFewLanes
// Needs bf16 keys, AMX, a head_dim that is a multiple of 32, and has_few_lanes() to be false.
void attention_amx(const AttentionTask& task, void* scratch);
void attention_f32(const AttentionTask& task, void* scratch, Isa isa);
void attention_few_f32(const AttentionTask& task, void* scratch, Isa isa);  // lanes <= kFewLanes

}  // namespace reprise::kernels::cpu
