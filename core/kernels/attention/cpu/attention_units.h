// The order in which a task with few lanes (decode) reads the keys and values of several units (see
// attention_task.h). Tasks read key tile by key tile. Within a tile, visit_units() reads unit by
// unit, and visit_runs() reads block by block, in each block the rows of several units.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/error.h"
#include "core/kernels/attention/cpu/attention_tile.h"

namespace reprise::kernels::cpu {

// Returns the rows of `unit`, given the rows of unit 0.
inline RowGroups rows_of_unit(const AttentionTask& task, RowGroups rows, int unit) {
  rows.unit_offset = static_cast<size_t>(unit) * task.unit_bytes;
  return rows;
}

// Visits every key tile once.
//   visit(first, keys, is_regular)   is_regular: the rows of all units are laid out alike, so the
//                                    addresses of unit 0 serve all units. False with `each_unit`
template <typename Visit>
void visit_unit_tiles(const AttentionTask& task, TileScratch& scratch, bool each_unit,
                      Visit&& visit) {
  const VisibleRange range = prepare_lanes(task, scratch, 0, task.lanes);
  for (int first = task.tile_begin(range.begin); first < range.end; first = task.tile_end(first)) {
    const int keys = std::min(task.tile_end(first), range.end) - first;
    visit(first, keys, !each_unit && lies_in_groups(task, keys));
  }
}

// Computes the units of a tile one after the other.
//   load(unit)        gathers the addresses of the unit's rows. If is_regular, it is called for
//                     unit 0 only, because the other units' rows lie at an offset from these
//   compute(scratch)  computes the tile's keys against the unit's lanes, which are the first lanes
//                     of `scratch`
template <typename Load, typename Compute>
void visit_units(const AttentionTask& task, TileScratch& scratch, size_t q_bytes, int first,
                 int keys, bool is_regular, Load&& load, Compute&& compute) {
  const int groups = (keys + kRowGroup - 1) / kRowGroup;
  scratch.groups = scratch.keys_left = scratch.values_left = groups;
  for (int unit = 0; unit < task.units; ++unit) {
    if (unit == 0 || task.alibi_rounded) gather_alibi(task, scratch, first, keys, unit);
    if (unit == 0 || !is_regular) load(unit);
    if (is_regular) {
      scratch.keys = rows_of_unit(task, scratch.keys, unit);
      scratch.values = rows_of_unit(task, scratch.values, unit);
    }
    // If !is_regular, the rows are copies, so the rows of the next unit do not lie at an offset
    // from them.
    scratch.next = unit + 1 < task.units && is_regular ? rows_of_unit(task, scratch.keys, unit + 1)
                                                       : scratch.keys.from(groups);
    scratch.unit = unit;
    compute(scratch.from_lane(unit * task.unit_lanes(), q_bytes));
  }
}

// Keys [begin, end) of a tile that lie in one block. Within a block the rows of a unit follow one
// another, then come the rows of the next unit.
struct TilePart {
  int begin = 0, end = 0;
  [[nodiscard]] int groups() const { return (end - begin) / kRowGroup; }
};
struct TileParts {
  TilePart parts[kKeyTile / kPartTokens + 1];
  int count = 0;
};
inline TileParts parts_of_tile(const AttentionTask& task, int first, int keys) {
  TileParts out;
  for (int begin = 0; begin < keys;) {
    const int in_block = (task.skipped + first + begin) % task.block_tokens;
    const int end = std::min(keys, begin + task.block_tokens - in_block);
    out.parts[out.count++] = {.begin = begin, .end = end};
    begin = end;
  }
  return out;
}

// Points scratch.keys and scratch.values at the rows of units [0, units) in the order in which
// visit_runs() reads them. Rows of the next tile's first block follow in scratch.keys, for
// prefetching.
inline void gather_runs(const AttentionTask& task, TileScratch& scratch, int first, int keys,
                        const TileParts& parts, int units) {
  const size_t row_bytes = static_cast<size_t>(task.head_dim) * size_of(task.kv_dtype);
  scratch.keys.row_bytes = scratch.values.row_bytes = row_bytes;
  scratch.keys.unit_offset = scratch.values.unit_offset = 0;
  int count = 0;
  const auto append = [&](int begin, int end, int unit) {
    walk_groups(task, row_bytes, first + begin, first + end, [&](int, size_t byte) {
      const size_t at = byte + static_cast<size_t>(unit) * task.unit_bytes;
      scratch.keys.groups[count] = task.keys + at;
      scratch.values.groups[count] = task.values + at;
      ++count;
    });
  };
  for (int i = 0; i < parts.count; ++i)
    for (int unit = 0; unit < units; ++unit) append(parts.parts[i].begin, parts.parts[i].end, unit);
  // Prefetching goes no further than as many rows as a unit has in a tile.
  const int tile_count = count, end = count + kKeyTile / kRowGroup + kGroupSlack;
  const int next_keys = std::min(kKeyTile, task.tokens - first - keys) / kRowGroup * kRowGroup;
  if (next_keys > 0) {
    const TilePart next = parts_of_tile(task, first + keys, next_keys).parts[0];
    for (int unit = 0; unit < units && count < end; ++unit) append(keys, keys + next.end, unit);
  }
  for (int group = count; group < end; ++group)
    scratch.keys.groups[group] = scratch.keys.groups[count - 1];
  for (int group = tile_count; group < end; ++group)
    scratch.values.groups[group] = scratch.values.groups[tile_count - 1];
}

template <typename Score, typename Weigh, typename Add>
struct RunStages {
  Score score;
  Weigh weigh;
  Add add;
};

// Computes the units of a regular tile, task.units_together() of them at a time: the keys of these
// units in the tile's first block, then their keys in the next block and so on, then the softmax of
// each unit, then the values in the order of the keys. Memory is thus read in longer runs than one
// unit's rows of a block, and therefore faster. (Measured with two threads of a Zen 5 and rows of
// 256 bytes: in blocks of 64 tokens, reading one unit after the other reached 0.91 of the rate of
// long runs; in blocks of 128 tokens it reached 0.95 to 0.97. f32 reached the same in blocks of
// half as many tokens.) Scores and weights of a unit are [lanes][128] if `spread` is 0, else
// [128][spread] with spread >= lanes.
//   stages.score(scratch, keys)   scores of the first `keys` keys of scratch.keys
//   stages.weigh(scratch)         turns the tile's scores into weights; updates m, n and corr
//   stages.add(scratch, keys)     o = o * corr + p v with the first `keys` values
template <typename Stages>
void visit_runs(const AttentionTask& task, TileScratch& scratch, size_t q_bytes, int first,
                int keys, int spread, const Stages& stages) {
  const TileParts parts = parts_of_tile(task, first, keys);
  const int lanes = task.unit_lanes(), most = task.units_together();
  REPRISE_DCHECK(most * lanes <= kLaneTile, "{} units of {} lanes, the scratch holds {} lanes",
                 most, lanes, kLaneTile);
  for (int first_unit = 0, gathered = 0; first_unit < task.units; first_unit += most) {
    const int units = std::min(most, task.units - first_unit);
    if (units != gathered) gather_runs(task, scratch, first, keys, parts, units);
    gathered = units;
    const int groups = units * keys / kRowGroup;
    const RowGroups all_keys = rows_of_unit(task, scratch.keys, first_unit);
    const RowGroups all_values = rows_of_unit(task, scratch.values, first_unit);
    // The gathered addresses serve `units` units. If fewer units are left, the addresses of the
    // next units could lie beyond the block, so `next` is then rows that were read already.
    const int left = task.units - first_unit - units;
    const RowGroups next = left >= units ? rows_of_unit(task, scratch.keys, first_unit + units)
                           : left > 0    ? all_keys
                                         : scratch.keys.from(groups);
    // Each unit has scores and weights of its own.
    const auto of_unit = [&](int unit) {
      TileScratch view = scratch.from_lane((first_unit + unit) * lanes, q_bytes);
      view.scores += unit * (spread > 0 ? spread : lanes) * kKeyTile;
      view.p = static_cast<uint32_t*>(scratch.p) + unit * lanes * (kKeyTile / 2);
      view.corr += unit * lanes;
      view.keys = all_keys;
      view.values = all_values;
      view.next = next;
      view.unit = first_unit + unit;
      return view;
    };
    // Calls use(view of the unit, part, index of its first group) for each part and unit.
    const auto visit_parts = [&](auto&& use) {
      int group = 0;
      for (int i = 0; i < parts.count; ++i)
        for (int unit = 0; unit < units; ++unit, group += parts.parts[i].groups()) {
          TileScratch view = of_unit(unit);
          view.groups = parts.parts[i].groups();
          view.scores += parts.parts[i].begin * std::max(spread, 1);
          view.p = static_cast<uint32_t*>(view.p) + parts.parts[i].begin / 2;
          use(view, parts.parts[i], group);
        }
    };
    visit_parts([&](TileScratch& view, const TilePart& part, int group) {
      view.keys = all_keys.from(group);
      view.keys_left = groups - group;
      stages.score(view, part.end - part.begin);
    });
    for (int unit = 0; unit < units; ++unit) {
      if ((first_unit == 0 && unit == 0) || task.alibi_rounded)
        gather_alibi(task, scratch, first, keys, first_unit + unit);
      stages.weigh(of_unit(unit));
    }
    visit_parts([&](TileScratch& view, const TilePart& part, int group) {
      view.values = all_values.from(group);
      view.values_left = groups - group;
      if (part.begin > 0) view.corr = const_cast<float*>(kOnes);
      stages.add(view, part.end - part.begin);
    });
  }
}

}  // namespace reprise::kernels::cpu
