// Divides a plan's rows into tiles for the map kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/attention_map/cuda/attention_map.cuh"
#include "core/kv/plan.h"

namespace reprise::kernels::cuda {

struct MapTiles {
  std::vector<MapRun> runs;
  std::vector<MapTile> tiles;  // all rows in order, also those that see no key
  std::vector<int32_t> seen;   // [rows]
};

// Divides all rows of the plan into tiles. `borders` are the first rows of maps, ascending; no tile
// has rows of two maps. Throws Error unless all caches have the same 16-bit dtype.
MapTiles map_tiles(const kv::AttentionPlan& plan, std::span<const int32_t> borders);

}  // namespace reprise::kernels::cuda
