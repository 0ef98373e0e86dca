// A plan's rows as the map kernels take them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/attention_map/cuda/attention_map.cuh"
#include "core/kv/plan.h"

namespace reprise::kernels::cuda {

struct MapTiles {
  std::vector<MapRun> runs;
  std::vector<MapTile> tiles;  // of rows that see a key or not, in their order
  std::vector<int32_t> seen;   // [rows]
};

// Tiles of all rows; none goes over one of `borders`, which ascend: first rows of maps. Throws
// Error where the caches are not of one 16-bit type.
MapTiles map_tiles(const kv::AttentionPlan& plan, std::span<const int32_t> borders);

}  // namespace reprise::kernels::cuda
