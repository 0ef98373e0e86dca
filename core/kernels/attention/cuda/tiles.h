// The tiles that the attention kernel is compiled for, and which of them a step uses: one table for
// each architecture, and a cost model that works with data sheets alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/kernels/attention/cuda/roofline.h"
#include "core/kernels/attention/run_reads.h"

namespace reprise::kernels::cuda {

// A block of threads computes `lanes` lanes (see attention_task.h) against `keys` keys at a time.
// Its warps stand in a grid: each has 16 lanes and keys / key_warps keys of every tile. With
// several key warps a tile's keys are split within the block, and their results are merged in
// shared memory at the end.
struct TileShape {
  int32_t lanes = 0, keys = 0;
  int32_t lane_warps = 0, key_warps = 0;  // lane_warps * 16 == lanes
  int32_t stages = 0;  // tiles in shared memory: one computed with, the others on their way
  int32_t blocks = 0;  // of an SM at least, as far as registers go: the compiler keeps to it
  // Products of four warps at a time that read keys and values from shared memory themselves:
  // wgmma, which sm_90a alone has.
  bool by_warpgroups = false;

  bool operator==(const TileShape&) const = default;
  [[nodiscard]] constexpr int32_t threads() const { return 32 * lane_warps * key_warps; }
  // How often a tile is read from shared memory.
  [[nodiscard]] constexpr int32_t readers() const {
    return by_warpgroups ? lane_warps / 4 : lane_warps;
  }
  // Rows are padded by 16 bytes: then 8 rows of any head size that is a multiple of 16 lie in
  // different banks, as ldmatrix reads them. Warpgroups read rows of 128 bytes whose 16-byte parts
  // change places instead.
  [[nodiscard]] constexpr int64_t shared_bytes(int64_t head_dim) const {
    return int64_t{stages} * 2 * keys * (head_dim + (by_warpgroups ? 0 : 8)) * 2;
  }
  [[nodiscard]] constexpr bool has_head_dim(int64_t head_dim) const {
    return !by_warpgroups || head_dim % 64 == 0;
  }
};

// What is compiled; the kernel's source names shapes by their place here.
inline constexpr std::array<TileShape, 5> kTileShapes = {{
    {.lanes = 16, .keys = 64, .lane_warps = 1, .key_warps = 4, .stages = 2, .blocks = 2},
    {.lanes = 16, .keys = 64, .lane_warps = 1, .key_warps = 4, .stages = 3, .blocks = 2},
    {.lanes = 64, .keys = 64, .lane_warps = 4, .key_warps = 1, .stages = 2, .blocks = 2},
    {.lanes = 128, .keys = 64, .lane_warps = 8, .key_warps = 1, .stages = 2, .blocks = 1},
    {.lanes = 128,
     .keys = 64,
     .lane_warps = 8,
     .key_warps = 1,
     .stages = 3,
     .blocks = 1,
     .by_warpgroups = true},
}};
// Where parts of an item meet; all shapes compute as many keys at a time.
inline constexpr int32_t kKeyTile = 64;
// How many tiles or parts of size b cover a.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Head sizes that are compiled: that of the shipped model, and those of Llama, Falcon, MPT, Phi and
// their like.
inline constexpr std::array<int, 5> kHeadDims = {32, 64, 80, 96, 128};
// Throws ShapeError, naming the sizes there are, for any other.
void require_head_dim(int64_t head_dim);
// Throws Error, with the remedy, for keys that tensor cores do not multiply: f32.
void require_kv_dtype(DType dtype);

// Throws ShapeError for a shape that is not compiled for the head size, and Error where it is
// by_warpgroups and the program has no code for sm_90a.
void require_compiled(const TileShape& shape, int64_t head_dim, bool has_sm90a_code);

// "16x64:1x4:2": lanes x keys : warps along each : stages; ":wgmma" behind where it is
// by_warpgroups.
std::string text_of(const TileShape& shape);
// The place in kTileShapes. Throws Error, naming what there is, for a shape that is not compiled.
int32_t parse_tile(std::string_view text);

// The shapes an architecture chooses from (places in kTileShapes). sm_90 has the shared memory for
// a third stage in two blocks of head size 128; sm_80 has not. The shape by_warpgroups is chosen by
// a TileOverride alone: no device has shown yet that it is right and where it pays.
std::span<const int32_t> tiles_of(Architecture architecture);

// Blocks of a shape that an SM holds at once.
int64_t resident_blocks(const TileShape& shape, int64_t head_dim, const GpuModel& gpu);

// An item of a plan, as the cost model sees it.
struct ItemLoad {
  int64_t lanes = 0;       // of a kv head
  double mean_keys = 0.0;  // that a lane tile sees on average: about half under a causal mask
  int64_t key_tiles = 0;   // tiles of kKeyTile keys, as AttentionSchedule counts them
  bool is_in_l2 = false;   // another item brings its keys there
};

// What the items of a step have in common.
struct StepShape {
  int64_t kv_heads = 0, head_dim = 0;
};

// In place of what the model would choose, for tuning. A shape by_warpgroups needs a GPU that has
// them and a head size that is a multiple of 64: choose_tiles() throws ShapeError otherwise.
struct TileOverride {
  std::optional<int32_t> shape;  // for all items
  int32_t parts = 0;             // of every item, as far as it has key tiles; 0: as the model says
};

struct TileChoice {
  std::vector<int32_t> shapes;  // [items]  places in kTileShapes
  std::vector<int32_t> parts;   // [items]
  double estimate_us = 0.0;     // of the step's attention by the model, without launches
};

// SM time in microseconds of all lane tiles of an item against its keys, for one kv head: for each
// key tile the longest of its bytes (the first lane tile's from memory unless is_in_l2, the others'
// from L2), its
// products, its exponentials and what passes through shared memory; and a tenth of the other three,
// since the four do not overlap perfectly.
double item_us(const ItemLoad& item, const TileShape& shape, const StepShape& step,
               const GpuModel& gpu);

// The cheapest shape of each item, or one for all where that saves more in launches than it costs;
// and parts so that the blocks fill the machine evenly: the item
// that takes longest is cut into 1, 2, ... 64 and the others into parts of that time; each further
// part pays for writing and reading its partial results. Of cuts that the model has within 3 % of
// the best, the coarsest.   [ChunkAttention §3.2 splits by chunks and by sequences]
TileChoice choose_tiles(std::span<const ItemLoad> items, const StepShape& step, const GpuModel& gpu,
                        const TileOverride& wanted = {});

// DeviceKernels::reads_us(): as if the run were all that the step reads. The first item reads from
// memory, the others from L2 where half of it holds the run. Where the blocks of all items do not
// fill the machine they are cut into parts; parts and leaves_partials write and read partial
// results, and the launch that merges them counts unless is_merged.
double reads_us(const RunReads& reads, const GpuModel& gpu);

}  // namespace reprise::kernels::cuda
