// How the CPU's attention cuts keys and lanes, for those who plan what it computes. A lane is a
// query row of one head.
#pragma once

namespace reprise::kernels::cpu {

// Keys are visited in tiles that start at multiples of kKeyTile, counted from the begin of the
// first block, so that memory is read in whole blocks and a lane's rounding does not depend on how
// lanes were put into tasks. Where an item's keys are split, the parts meet between two tiles.
inline constexpr int kKeyTile = 128;
// Rows are addressed in groups of this many that follow one another in memory; those of groups that
// do not are copied.
inline constexpr int kRowGroup = 8;
// Up to this many lanes, scores are dot products along head_dim; above, keys are broadcast against
// lanes in SIMD order, which pays once the lanes fill most of a vector. (Zen 5, d 128: 8 lanes cost
// the same either way.)
inline constexpr int kFewLanes = 8;

}  // namespace reprise::kernels::cpu
