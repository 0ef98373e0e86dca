// Code that the attention kernels of all instruction sets share: a worker's scratch, the ranges of
// visible keys, and the addresses of keys.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/constant.h"
#include "core/kernels/attention/cpu/attention_task.h"

namespace reprise::kernels::cpu {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// Groups of rows that scratch needs beyond a key tile: blocks of scores round the number of keys up
// to a multiple of 4, 6, 8, 12, 16 or 24.
inline constexpr int kGroupSlack = 24 / kRowGroup;

// Most row groups whose addresses a worker stores: a key tile of each unit that is read together,
// and up to two tiles of one unit to prefetch.
inline constexpr int kMostGroups = (kMostUnitsTogether + 2) * kKeyTile / kRowGroup + kGroupSlack;

// Elements of padding after each converted row.
inline constexpr int kRowPadding = 16;
// Factors of o for all parts of a tile except the first one, which has corrected o already.
alignas(64) inline constexpr float kOnes[kFewLanes] = {1, 1, 1, 1, 1, 1, 1, 1};

// Addresses of key rows or of value rows, in the order of reading: first the key tile's rows, then
// those to prefetch. Each entry of `groups` points at kRowGroup rows that follow one another.
struct RowGroups {
  const char** groups = nullptr;  // [kMostGroups], or a later part of them
  size_t row_bytes = 0;
  size_t unit_offset = 0;  // byte offset to the rows of the current unit

  [[nodiscard]] const char* group(int index) const { return groups[index] + unit_offset; }
  [[nodiscard]] const char* row(int j) const {
    const auto at = static_cast<size_t>(j);
    return groups[at / kRowGroup] + unit_offset + at % kRowGroup * row_bytes;
  }
  // The rows from group `index` on.
  [[nodiscard]] RowGroups from(int index) const {
    return {.groups = groups + index, .row_bytes = row_bytes, .unit_offset = unit_offset};
  }
};

// Prefetch distances in rows, or in groups of rows, for rows that are read at an even pace. With
// near = 0, the near request is for the rows being computed, so its loads hit the cache.
struct Ahead {
  int far, near;
};
inline Ahead rows_ahead(const FetchSetting& fetch, size_t row_bytes) {
  const int bytes = static_cast<int>(row_bytes);
  const int far = std::clamp(fetch.far_bytes / bytes, 2, kKeyTile);
  return {.far = far,
          .near = fetch.near_bytes == 0 ? 0 : std::clamp(fetch.near_bytes / bytes, 1, far)};
}
inline Ahead groups_ahead(const FetchSetting& fetch, size_t row_bytes) {
  const Ahead rows = rows_ahead(fetch, row_bytes);
  const int far = std::max(2, rows.far / kRowGroup);
  return {.far = far, .near = rows.near == 0 ? 0 : std::clamp(rows.near / kRowGroup, 1, far)};
}

// Prefetches of the kernel for few lanes: into which cache far rows are prefetched, and whether
// near rows are prefetched again (kTwice...) or loaded. kNone: nothing is prefetched, because the
// rows have been read already. A compile-time constant, because a branch for each cache line costs
// 2 % of the time when memory is the limit.
enum class Fetch : uint8_t { kNone, kToL1, kToL2, kTwiceToL1, kTwiceToL2 };

// The cache lines that the kernel for few lanes requests while it computes, one by one between the
// products, because a burst fills the load queue. When memory is the limit, the queue of misses is
// full and prefetches are dropped (seen on Zen 5), but loads never are. Therefore rows far ahead
// are prefetched and near rows are loaded, or prefetched again. Most near loads hit. Those that
// miss overlap with the products computed meanwhile, while a miss in the products' own loads would
// fill the schedulers with waiting instructions.
struct FetchAhead {
  const char* far = nullptr;   // rows of a group to prefetch
  const char* near = nullptr;  // rows of a group to load, or to prefetch again; readable
  bool to_l2 = false;          // true: the far prefetch goes to L2; false: to L1

  // Requests the cache lines at offset `byte` of the far and of the near rows, for tasks of several
  // lanes. Several lanes compute more for each cache line than one lane, so near rows are always
  // loaded.
  void line(size_t byte) const {
    if (to_l2) {
      line<Fetch::kToL2>(byte);
    } else {
      line<Fetch::kToL1>(byte);
    }
  }
  template <Fetch kFetch>
  void line(size_t byte) const {
    if constexpr (kFetch == Fetch::kNone) return;
    constexpr bool kToL2 = kFetch == Fetch::kToL2 || kFetch == Fetch::kTwiceToL2;
    if constexpr (kFetch == Fetch::kTwiceToL1 || kFetch == Fetch::kTwiceToL2) {
      __builtin_prefetch(far + byte, 0, kToL2 ? 2 : 3);
      __builtin_prefetch(near + byte, 0, 3);
      // Keeps the compiler from moving the prefetches together. (Zen 5: together they cost 7 % of
      // the time.)
      asm volatile("" : :);
    } else {
      int32_t word;
      std::memcpy(&word, near + byte, sizeof word);
      // Keeps the load, in an integer register, and the prefetches where they are.
      asm volatile("" : : "r"(word));
      __builtin_prefetch(far + byte, 0, kToL2 ? 2 : 3);
    }
  }
};

// Calls use() with the Fetch value for the setting as an integral constant.
template <typename Use>
[[gnu::always_inline]] inline void with_setting(const FetchSetting& setting, Use&& use) {
  const bool to_l2 = setting.level == FetchSetting::Level::kL2;
  if (setting.near == FetchSetting::Near::kPrefetch) {
    if (to_l2) return use(std::integral_constant<Fetch, Fetch::kTwiceToL2>{});
    return use(std::integral_constant<Fetch, Fetch::kTwiceToL1>{});
  }
  if (to_l2) return use(std::integral_constant<Fetch, Fetch::kToL2>{});
  use(std::integral_constant<Fetch, Fetch::kToL1>{});
}

// Prefetches rows while others are computed: some rows before each block of products, so that
// memory stays busy.
class RowsAhead {
 public:
  RowsAhead(const RowGroups& rows, int first, int end) : rows_(rows), next_(first), end_(end) {}
  // Fetches up to `count` rows now.
  void take(int count, int /*steps*/ = 0) {
    for (const int stop = std::min(end_, next_ + count); next_ < stop; ++next_)
      for (size_t byte = 0; byte < rows_.row_bytes; byte += 64)
        __builtin_prefetch(rows_.row(next_) + byte);
  }
  void step(int /*index*/) const {}

 private:
  const RowGroups& rows_;
  int next_, end_;
};

// Prefetches rows in the loop of a block of products, some cache lines at a time: prefetched all at
// once, the lines would overflow the queue of misses and be dropped. The extra instructions pay off
// only with few lanes, because blocks of few lanes are computed in little time.
class LinesAhead {
 public:
  LinesAhead(const RowGroups& rows, int first, int end) : rows_(rows), next_(first), end_(end) {}
  // Makes the next `steps` calls of step() prefetch up to `count` rows, two lines in each call.
  void take(int count, int steps) {
    lines_ = 0;
    steps_ = steps;
    for (const int stop = std::min(end_, next_ + count); next_ < stop; ++next_) {
      const char* row = rows_.row(next_);
      for (size_t byte = 0; byte < rows_.row_bytes && lines_ < kMostLines; byte += 64)
        line_[lines_++] = row + byte;
    }
  }
  void step(int index) const {
    if (index < lines_) __builtin_prefetch(line_[index]);
    if (index + steps_ < lines_) __builtin_prefetch(line_[index + steps_]);
  }

 private:
  static constexpr int kMostLines = 2 * kKeyTile;
  const RowGroups& rows_;
  int next_, end_, lines_ = 0, steps_ = 0;
  const char* line_[kMostLines];
};

// Number of blocks of at most 6 into which `count` lanes or keys are divided.
inline int blocks_of_six(int count) { return (count + 5) / 6; }

// Divides `count` lanes or keys into blocks of at most 6 and calls block(height, first) for each:
// `height` is the block's number of lanes or keys as an integral constant, `first` the index of its
// first lane or key. Heights are nearly equal, because a block of few lanes or keys has too few
// independent sums to hide the latency of its multiply-adds.
template <typename Block>
void cut_in_sixes(int count, Block&& block) {
  for (int first = 0, left = blocks_of_six(count); left > 0; --left) {
    const int height = (count - first + left - 1) / left;
    with_constant<1, 2, 3, 4, 5, 6>(height, [&](auto constant) { block(constant, first); });
    first += height;
  }
}

// Keys [begin, end) that any lane sees, and keys [all_low, all_high) that every lane sees.
struct VisibleRange {
  int begin = 0, end = 0;
  int all_low = 0, all_high = 0;

  // True if keys [first, first + keys) need no mask.
  [[nodiscard]] bool covers(int first, int keys) const {
    return first >= all_low && first + keys <= all_high;
  }
};

// Pointers into one worker's scratch. Arrays have room for f32; the kernel determines the element
// types. Data that a lane keeps from one key tile to the next are stored for all lanes of a task,
// other data for one lane tile at a time.
struct TileScratch {
  // For every lane of the task.
  void* q = nullptr;   // many lanes: [panels][head_dim][lanes]; few: [lanes][padded_dim]
  float* o = nullptr;  // [lanes][padded_dim]
  float* o_by_dimension = nullptr;  // with AMX: [tiles][head_dim][64]
  float* m = nullptr;               // [lanes] in log2 units
  float* n = nullptr;               // [lanes]
  float* alibi_q = nullptr;         // [lanes]
  int32_t* low = nullptr;           // [lanes]
  int32_t* high = nullptr;          // [lanes]
  // For the key tile.
  RowGroups keys, values;
  int unit = 0;  // the current unit, with few lanes
  // With few lanes. `groups` is the number of groups to compute. The other fields give the order of
  // reading, for prefetches: keys_left groups of `keys` are followed by `values`, and values_left
  // groups of `values` by `next`.
  int groups = 0;
  int keys_left = 0, values_left = 0;
  RowGroups next;
  char* key_copies = nullptr;    // of rows that do not lie in contiguous groups of kRowGroup
  char* value_copies = nullptr;  // the same for values
  float* alibi_k = nullptr;      // [keys]
  void* k = nullptr;             // converted or padded keys [keys][padded_dim + kRowPadding]
  void* v = nullptr;             // values in the same way, or interleaved
  // For the lane tile and the key tile.
  // Many: [keys][64 or more]; few: for each unit read together, [lanes][128] or [128][spread].
  float* scores = nullptr;
  void* p = nullptr;      // bf16 weights in key pairs: many [pairs][64], few [64][64 pairs]
  float* corr = nullptr;  // [64] exp2(m_old - m_new) of lanes computed together

  int padded_dim = 0;  // head_dim rounded up to 16
  FetchSetting fetch;
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
    carve(o_by_dimension, 4, width * kTaskLanes);
    for (float** row : {&m, &n, &alibi_q}) carve(*row, 4, kTaskLanes);
    carve(low, 4, kTaskLanes);
    carve(high, 4, kTaskLanes);
    carve(keys.groups, sizeof(void*), kMostGroups);
    carve(values.groups, sizeof(void*), kMostGroups);
    carve(key_copies, 4, kKeyTile * width);
    carve(value_copies, 4, kKeyTile * width);
    carve(alibi_k, 4, kKeyTile + 16);
    carve(k, 4, kKeyTile * (width + kRowPadding));
    carve(v, 4, kKeyTile * (width + kRowPadding));
    // Twice the lanes, because `spread` rounds the lanes of a unit up to a power of two.
    carve(scores, 4, static_cast<size_t>(kKeyTile + kGroupSlack * kRowGroup) * kLaneTile * 2);
    carve(p, 4, static_cast<size_t>(kKeyTile) / 2 * kLaneTile);
    carve(corr, 4, kLaneTile);
  }

  // With few lanes: fetch_from_keys() returns the rows to request while group `index` of the keys
  // is computed, fetch_from_values() those for group `index` of the values. All these rows are
  // readable.
  [[nodiscard]] FetchAhead fetch_from_keys(int index, Ahead ahead) const {
    return fetch_of(keys_in_order(index + ahead.far), keys_in_order(index + ahead.near));
  }
  [[nodiscard]] FetchAhead fetch_from_values(int index, Ahead ahead) const {
    return fetch_of(values_in_order(index + ahead.far), values_in_order(index + ahead.near));
  }

  // Returns this scratch with the pointers of per-lane data moved to lane `lane`. A lane's queries
  // take `q_bytes` bytes.
  [[nodiscard]] TileScratch from_lane(int lane, size_t q_bytes) const {
    TileScratch view = *this;
    view.q = static_cast<char*>(q) + static_cast<size_t>(lane) * q_bytes;
    view.o += lane * padded_dim;
    view.m += lane;
    view.n += lane;
    view.alibi_q += lane;
    view.low += lane;
    view.high += lane;
    return view;
  }

 private:
  [[nodiscard]] const char* keys_in_order(int index) const {
    return index < keys_left ? keys.group(index) : values.group(index - keys_left);
  }
  [[nodiscard]] const char* values_in_order(int index) const {
    return index < values_left ? values.group(index) : next.group(index - values_left);
  }
  [[nodiscard]] FetchAhead fetch_of(const char* far, const char* near) const {
    return {.far = far, .near = near, .to_l2 = fetch.level == FetchSetting::Level::kL2};
  }
};

// Fills low, high, alibi_q and the initial m, n, o of lanes [first_lane, first_lane + lanes). The
// lanes up to the next multiple of 16 are initialized to see nothing.
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
        is_real && task.has_alibi
            ? task.alibi_term(task.row_positions[task.row_of(lane)], lane / task.unit_lanes())
            : 0.0f;
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

// Visits keys [first, end) of the segment in groups of at most kRowGroup, starting at `first`:
// visit(group index, byte offset of its first row). If blocks hold whole groups, a group's rows
// follow one another.
template <typename Visit>
void walk_groups(const AttentionTask& task, size_t row_bytes, int first, int end, Visit&& visit) {
  const size_t element_bytes = size_of(task.kv_dtype);
  int block = (task.skipped + first) / task.block_tokens;
  int in_block = (task.skipped + first) % task.block_tokens;
  for (int group = 0; first < end; ++group, first += kRowGroup) {
    visit(group, static_cast<size_t>(task.block_offsets[block]) * element_bytes +
                     static_cast<size_t>(in_block) * row_bytes);
    for (in_block += kRowGroup; in_block >= task.block_tokens; ++block)
      in_block -= task.block_tokens;
  }
}

// Copies rows [first + from, first + keys) one after the other, and points scratch.keys and
// scratch.values at the copies. Fills up the last group with the last key, which raises no maximum,
// and with values of zero.
inline void copy_rows(const AttentionTask& task, TileScratch& scratch, int unit, int first,
                      int from, int keys) {
  const size_t element_bytes = size_of(task.kv_dtype), row_bytes = scratch.keys.row_bytes;
  const size_t unit_offset = static_cast<size_t>(unit) * task.unit_bytes;
  for (int j = from; j < keys; ++j) {
    const int at_key = task.skipped + first + j;
    const int block = at_key / task.block_tokens, in_block = at_key % task.block_tokens;
    const size_t byte = static_cast<size_t>(task.block_offsets[block]) * element_bytes +
                        static_cast<size_t>(in_block) * row_bytes;
    const size_t at = static_cast<size_t>(j) * row_bytes;
    std::memcpy(scratch.key_copies + at, task.keys + unit_offset + byte, row_bytes);
    std::memcpy(scratch.value_copies + at, task.values + unit_offset + byte, row_bytes);
  }
  const int end = (keys + kRowGroup - 1) / kRowGroup * kRowGroup;
  const size_t at = static_cast<size_t>(keys) * row_bytes;
  const size_t pad = static_cast<size_t>(end - keys) * row_bytes;
  for (size_t byte = 0; byte < pad; byte += row_bytes)
    std::memcpy(scratch.key_copies + at + byte, scratch.key_copies + at - row_bytes, row_bytes);
  std::memset(scratch.value_copies + at, 0, pad);
  for (int j = from; j < end; j += kRowGroup) {
    scratch.keys.groups[j / kRowGroup] = scratch.key_copies + static_cast<size_t>(j) * row_bytes;
    scratch.values.groups[j / kRowGroup] =
        scratch.value_copies + static_cast<size_t>(j) * row_bytes;
  }
}

// True if a key tile's rows lie in whole groups. All units can then be read at an offset from the
// rows of the first unit.
inline bool lies_in_groups(const AttentionTask& task, int keys) {
  return keys % kRowGroup == 0 && task.has_whole_groups();
}

// Points scratch.keys and scratch.values at a unit's keys [first, first + keys), followed by up to
// `ahead` further keys to prefetch (or the last group again if there are none).
inline void gather_rows(const AttentionTask& task, TileScratch& scratch, int first, int keys,
                        int ahead, int unit = 0) {
  const size_t row_bytes = static_cast<size_t>(task.head_dim) * size_of(task.kv_dtype);
  scratch.keys.row_bytes = scratch.values.row_bytes = row_bytes;
  scratch.keys.unit_offset = scratch.values.unit_offset = 0;
  const size_t unit_offset = static_cast<size_t>(unit) * task.unit_bytes;
  const bool in_groups = task.has_whole_groups();
  // Addresses only whole groups, because a block of scores may read all rows of a group.
  const int end = in_groups ? first + (std::min(first + keys + ahead, task.tokens) - first) /
                                          kRowGroup * kRowGroup
                            : first;
  int count = 0;
  walk_groups(task, row_bytes, first, end, [&](int group, size_t byte) {
    scratch.keys.groups[group] = task.keys + unit_offset + byte;
    scratch.values.groups[group] = task.values + unit_offset + byte;
    count = group + 1;
  });
  const int whole = in_groups ? keys / kRowGroup * kRowGroup : 0;
  if (whole < keys) {
    copy_rows(task, scratch, unit, first, whole, keys);
    count = (keys + kRowGroup - 1) / kRowGroup;
  }
  for (int group = count; group < (keys + ahead) / kRowGroup + kGroupSlack; ++group) {
    scratch.keys.groups[group] = scratch.keys.groups[count - 1];
    scratch.values.groups[group] = scratch.values.groups[count - 1];
  }
}

inline void gather_alibi(const AttentionTask& task, const TileScratch& scratch, int first, int keys,
                         int unit = 0) {
  if (!task.has_alibi) return;
  for (int j = 0; j < keys; ++j)
    scratch.alibi_k[j] = task.alibi_term(task.first_position + first + j, unit);
  std::fill(scratch.alibi_k + keys, scratch.alibi_k + keys + 15, 0.0f);
}

// The query row of a lane.
inline const float* query_of(const AttentionTask& task, int lane) {
  return task.q + task.row_of(lane) * task.q_row_stride +
         static_cast<int64_t>(task.head_of(lane)) * task.head_dim;
}

// Writes a lane's partial result to the entry of its row and head or, if the task has
// partial_locks, merges it into that entry.
inline void store_partial(const AttentionTask& task, const TileScratch& scratch, int lane) {
  constexpr float kLn2 = 0.693147180559945f;
  const int64_t entry = static_cast<int64_t>(task.row_of(lane)) * task.heads + task.head_of(lane);
  const float* o = scratch.o + lane * scratch.padded_dim;
  const float m = scratch.m[lane] * kLn2;
  if (task.partial_locks != nullptr) return reduce_partial(task, entry, o, m, scratch.n[lane]);
  std::memcpy(task.partial_o + entry * task.head_dim, o,
              static_cast<size_t>(task.head_dim) * sizeof(float));
  task.partial_m[entry] = m;
  task.partial_n[entry] = scratch.n[lane];
}

// The factor that turns a lane's sums o into its result; 0 for a lane that saw no key.
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

// For each key tile, calls load() once, then compute() for each lane tile that sees some of the
// keys:
//   load(first, keys)                   gathers addresses and converts what all lane tiles share
//   compute(tile, index, first, keys)   keys [first, first + keys) against one lane tile
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
  for (int first = task.tile_begin(begin); first < end; first = task.tile_end(first)) {
    const int keys = std::min(task.tile_end(first), end) - first;
    load(first, keys);
    gather_alibi(task, scratch, first, keys);
    for (int i = 0; i < count; ++i) {
      const int visible = std::min(keys, tiles[i].range.end - first);
      if (visible > 0 && first + keys > tiles[i].range.begin) compute(tiles[i], i, first, visible);
    }
  }
}

}  // namespace reprise::kernels::cpu
