// How the CPU's attention cuts keys and lanes, for code that plans what it computes. A lane is a
// query row of one head.
#pragma once

namespace reprise::kernels::cpu {

// Keys are read in tiles. A tile starts at a multiple of kKeyTile, counted from the start of the
// segment's first block. So a tile holds whole blocks if their size divides kKeyTile, and a lane's
// rounding does not depend on how lanes are divided into tasks. An item whose keys are split is
// split between two tiles.
inline constexpr int kKeyTile = 128;
// Rows are addressed in groups of this many that follow one another in memory. Rows that do not lie
// in such groups are copied.
inline constexpr int kRowGroup = 8;
// Up to this many lanes, scores are dot products along head_dim. With more lanes, keys are
// broadcast against vectors of lanes, which pays once the lanes fill most of a vector. (Zen 5,
// head_dim 128: both ways cost the same at 8 lanes.)
inline constexpr int kFewLanes = 8;

}  // namespace reprise::kernels::cpu
