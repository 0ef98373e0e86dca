// The tile shapes for which the attention kernel is compiled, and the choice among them for a step.
// The choice uses a table of shapes for each architecture, and a cost model based on data sheets
// and a few measured constants.
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

// Bytes of shared memory for the barriers and tasks of a block by_warpgroups.
inline constexpr int64_t kControlBytes = 512;

// A block of threads computes `lanes` lanes (see attention_task.h) against `keys` keys at a time.
// Its warps form a grid: each has 16 lanes and keys / key_warps keys of every tile. With several
// key warps a tile's keys are divided within the block, and the results are merged in shared memory
// at the end.
struct TileShape {
  int32_t lanes = 0, keys = 0;
  int32_t lane_warps = 0, key_warps = 0;  // lane_warps * 16 == lanes
  int32_t stages = 0;  // tiles in shared memory: one in use, the others being copied
  int32_t blocks = 0;  // number of blocks for which an SM's registers must suffice
  // True: products are wgmma instructions of four warps, which read keys and values directly from
  // shared memory (only sm_90a). Four more warps copy.
  bool by_warpgroups = false;
  // True: whole groups of tokens are copied by the tensor memory accelerator (only by_warpgroups).
  bool by_tensor_maps = false;

  bool operator==(const TileShape&) const = default;
  [[nodiscard]] constexpr int32_t threads() const {
    return 32 * lane_warps * key_warps + (by_warpgroups ? copy_threads() : 0);
  }
  // The threads that copy: all of them, or a warpgroup that does nothing else.
  [[nodiscard]] constexpr int32_t copy_threads() const {
    return by_warpgroups ? 128 : 32 * lane_warps * key_warps;
  }
  // How many times a tile is read from shared memory.
  [[nodiscard]] constexpr int32_t readers() const {
    return by_warpgroups ? lane_warps / 4 : lane_warps;
  }
  // Shared memory of a block. Rows are padded by 16 bytes, so that the 8 rows that ldmatrix reads
  // at once lie in different banks, for any head size that is a multiple of 16. Warpgroups instead
  // read rows of 128 bytes whose 16-byte parts are permuted, and keep the queries in shared memory,
  // too.
  [[nodiscard]] constexpr int64_t shared_bytes(int64_t head_dim) const {
    if (by_warpgroups) return (int64_t{stages} * 2 * keys + lanes) * head_dim * 2 + kControlBytes;
    return int64_t{stages} * 2 * keys * (head_dim + 8) * 2;
  }
  [[nodiscard]] constexpr bool has_head_dim(int64_t head_dim) const {
    return !by_warpgroups || head_dim % 64 == 0;
  }
};

// True if this program was built with code for sm_90a, which shapes by_warpgroups need
// (cmake/cuda.cmake).
#if defined(REPRISE_CUDA_ON_CPU) || defined(REPRISE_CUDA_SM90A)
inline constexpr bool kBuiltForWarpgroups = true;
#else
inline constexpr bool kBuiltForWarpgroups = false;
#endif

inline constexpr TileShape kWarpgroupTile = {.lanes = 128,
                                             .keys = 128,
                                             .lane_warps = 8,
                                             .key_warps = 1,
                                             .stages = 3,
                                             .blocks = 1,
                                             .by_warpgroups = true};
// Returns the shape with copies by tensor maps.
constexpr TileShape with_tensor_maps(TileShape shape) {
  shape.by_tensor_maps = true;
  return shape;
}
// The compiled shapes. Kernels identify a shape by its index in this array.
inline constexpr std::array<TileShape, 7> kTileShapes = {{
    {.lanes = 16, .keys = 64, .lane_warps = 1, .key_warps = 4, .stages = 2, .blocks = 3},
    {.lanes = 16, .keys = 64, .lane_warps = 1, .key_warps = 4, .stages = 3, .blocks = 2},
    {.lanes = 64, .keys = 64, .lane_warps = 4, .key_warps = 1, .stages = 2, .blocks = 2},
    {.lanes = 128, .keys = 64, .lane_warps = 8, .key_warps = 1, .stages = 2, .blocks = 1},
    kWarpgroupTile,
    {.lanes = 32, .keys = 64, .lane_warps = 2, .key_warps = 2, .stages = 3, .blocks = 2},
    with_tensor_maps(kWarpgroupTile),
}};
// The parts of an item begin where tiles of kKeyTile keys begin (ItemCuts::key_tile).
inline constexpr int32_t kKeyTile = 64;
// The number of tiles or parts of size b that cover a.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The compiled head sizes: those of the shipped model and of all shipped shapes but mpt-30b (112).
inline constexpr std::array<int, 5> kHeadDims = {32, 64, 80, 96, 128};
// Throws ShapeError naming the compiled sizes for any other size.
void require_head_dim(int64_t head_dim);
// Throws Error with the remedy for keys that tensor cores do not multiply (f32).
void require_kv_dtype(DType dtype);

// Throws ShapeError for a shape that is not compiled for the head size, and Error if it is
// by_warpgroups and the program has no code for sm_90a.
void require_compiled(const TileShape& shape, int64_t head_dim, bool has_sm90a_code);

// "16x64:1x4:2": lanes x keys : lane_warps x key_warps : stages; followed by ":wgmma" if
// by_warpgroups, and by ":tma" if by_tensor_maps.
std::string text_of(const TileShape& shape);
// Returns the index in kTileShapes of the shape that `text` names, as text_of() writes it. Throws
// Error naming the compiled shapes for any other text.
int32_t parse_tile(std::string_view text);

// The shapes from which choose_tiles() chooses on an architecture, as indices in kTileShapes. sm_90
// has enough shared memory for two blocks with three stages each at head size 128; sm_80 has not.
// sm_90 does not use the largest tile of mma.sync, which was never the fastest there, nor the tile
// by_tensor_maps, which no device has been measured with.
std::span<const int32_t> tiles_of(Architecture architecture);

// Number of blocks of a shape that an SM holds at once.
int64_t resident_blocks(const TileShape& shape, int64_t head_dim, const GpuModel& gpu);

// An item of a plan in the cost model.
struct ItemLoad {
  int64_t lanes = 0;       // lanes of a kv head
  double mean_keys = 0.0;  // average keys that a lane tile sees: about half under a causal mask
  int64_t key_tiles = 0;   // tiles of kKeyTile keys, as counted by AttentionSchedule
  bool is_in_l2 = false;   // another item reads the same keys into L2
};

// Sizes that are equal for all items of a step.
struct StepShape {
  int64_t kv_heads = 0, head_dim = 0;
};

// Overrides the model's choice, for tuning. A shape needs a GPU with enough shared memory for a
// block; a shape by_warpgroups also needs a GPU with warpgroups and a head size that is a multiple
// of 64. Otherwise choose_tiles() throws ShapeError.
struct TileOverride {
  std::optional<int32_t> shape;  // index in kTileShapes, for all items; empty: the model chooses
  int32_t parts = 0;             // parts of each item, at most its key tiles; 0: the model chooses
  // True: the block that stores the last part of a row merges it; false: merge_partials() does.
  bool merges_in_last_block = false;
};

struct TileChoice {
  std::vector<int32_t> shapes;  // [items]  indices in kTileShapes
  std::vector<int32_t> parts;   // [items]
  double estimate_us = 0.0;     // estimated time of one layer, with its launches
};

// Microseconds that one SM needs for all lane tiles of an item against the item's keys, for one kv
// head. A key tile takes the longest of four times: for reading its bytes, for its products, for
// its softmax, and for its traffic through shared memory. The first lane tile reads from memory,
// unless is_in_l2; other lane tiles read from L2. A tenth of the three shorter times is added,
// because the four do not overlap perfectly.
double item_us(const ItemLoad& item, const TileShape& shape, const StepShape& step,
               const GpuModel& gpu);

// Chooses a shape for each item: the cheapest one, or one shape for all items if the whole step is
// then faster. (Each shape is a launch of its own, and launches run one after the other.)
//
// Then cuts each item's keys into parts, so that a launch's blocks fill the GPU evenly. Tries to
// cut the longest item into 1 to 64 parts, and the other items into parts that take about as long.
// Each further part costs writing and reading its partial results. Among the cuts whose time is
// within 3 % of the best, takes the one with the fewest parts. [ChunkAttention §3.2 cuts by
// chunks.]
TileChoice choose_tiles(std::span<const ItemLoad> items, const StepShape& step, const GpuModel& gpu,
                        const TileOverride& wanted = {});

// Implements DeviceKernels::reads_us() for a step that reads only this run. The first item reads
// from memory; the other items read from L2 if half of L2 has room for the run. If the blocks of
// all items do not fill the machine, the items are cut into parts. Adds the time that blocks wait
// before their first and after their last product. If there are parts, or if leaves_partials, adds
// the time to write and read partial results, and unless is_merged also the time of the launch that
// merges them.
double reads_us(const RunReads& reads, const GpuModel& gpu);

}  // namespace reprise::kernels::cuda
