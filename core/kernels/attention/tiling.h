// Sizes by which the CPU's attention kernels divide keys and lanes, for code that plans their work.
// A lane is a query row of one head.
#pragma once

namespace reprise::kernels::cpu {

// Keys are read in tiles of kKeyTile keys. A tile starts at a multiple of kKeyTile, counted from
// the start of the segment's first block. So a tile consists of whole blocks if the block size
// divides kKeyTile, and a lane's rounding does not depend on how lanes are divided into tasks.
// If the keys of a work item are divided into parts, each part ends at the end of a tile.
inline constexpr int kKeyTile = 128;
// Key and value rows are addressed in groups of kRowGroup rows that follow one another in memory.
// Rows that do not lie in such groups are copied.
inline constexpr int kRowGroup = 8;
// With at most kFewLanes lanes, scores are dot products along head_dim. With more lanes, each
// element of a key is broadcast and multiplied with vectors of lanes, which is faster once the
// lanes fill most of a vector. (Zen 5, head_dim 128: both ways cost the same at 8 lanes.)
inline constexpr int kFewLanes = 8;

}  // namespace reprise::kernels::cpu
