#include "core/kernels/attention/cuda/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace reprise::kernels::cuda {
namespace {

constexpr std::array<int32_t, 3> kTilesSm80 = {0, 2, 3};
constexpr std::array<int32_t, 3> kTilesSm90 = {1, 2, 3};

// None of these is measured yet. An additional launch (another tile shape, the merge) is assumed to
// cost what launches commonly do. A part has at least two key tiles, so that one is copied while
// the other is computed.
constexpr double kLaunchUs = 3.0;
constexpr int64_t kLeastTilesOfPart = 2;
constexpr double kOverlapLoss = 0.1;  // share of the shorter times that the longest does not hide
constexpr int64_t kMostParts = 64;
// Differences below this mean nothing; the coarser cut has fewer partial results.
constexpr double kAsGood = 1.03;

constexpr int64_t kKvBytes = 2;  // bytes of a bf16 or f16 element

// Bytes of the partial results of a part with `lanes` lanes of each kv head, written and read
// again.
int64_t partial_bytes(int64_t lanes, const StepShape& step) {
  return 2 * lanes * step.kv_heads * (step.head_dim + 2) * 4;
}

// The costs of one item with its chosen shape.
struct CostedItem {
  int64_t lane_tiles = 1;
  int64_t most_parts = 1;
  int64_t partial_bytes = 0;  // of one part
  double block_us = 0.0;      // SM time of one of its lane tiles, for one kv head
};

struct Costs {
  std::vector<CostedItem> items;
  double all_us = 0.0;      // SM time of all blocks together
  double longest_us = 0.0;  // SM time of the longest block
  int64_t resident = 1;     // resident blocks of an SM, for the longest item's shape
  int64_t most_parts = 1;   // of the longest item
};

int32_t cheapest_shape(const ItemLoad& item, const StepShape& step, const GpuModel& gpu) {
  int32_t best = -1;
  double best_us = 0.0;
  for (const int32_t index : tiles_of(gpu.architecture)) {
    const double us = item_us(item, kTileShapes[static_cast<size_t>(index)], step, gpu);
    if (best >= 0 && us >= best_us) continue;
    best = index;
    best_us = us;
  }
  return best;
}

double all_us(std::span<const ItemLoad> items, std::span<const int32_t> shapes,
              const StepShape& step, const GpuModel& gpu) {
  double us = 0.0;
  for (size_t i = 0; i < items.size(); ++i)
    us += item_us(items[i], kTileShapes[static_cast<size_t>(shapes[i])], step, gpu);
  return us * static_cast<double>(step.kv_heads);
}

// Time on the whole machine, including launches.
double shapes_us(std::span<const ItemLoad> items, std::span<const int32_t> shapes,
                 const StepShape& step, const GpuModel& gpu) {
  const auto launches = std::set<int32_t>(shapes.begin(), shapes.end()).size();
  return all_us(items, shapes, step, gpu) / gpu.sms + kLaunchUs * static_cast<double>(launches);
}

std::vector<int32_t> cheapest_shapes(std::span<const ItemLoad> items, const StepShape& step,
                                     const GpuModel& gpu) {
  std::vector<int32_t> best;
  for (const ItemLoad& item : items) best.push_back(cheapest_shape(item, step, gpu));
  double best_us = shapes_us(items, best, step, gpu);
  for (const int32_t shape : tiles_of(gpu.architecture)) {
    std::vector<int32_t> one(items.size(), shape);
    const double us = shapes_us(items, one, step, gpu);
    if (us >= best_us) continue;
    best = std::move(one);
    best_us = us;
  }
  return best;
}

Costs costs_of(std::span<const ItemLoad> items, std::span<const int32_t> shapes,
               const StepShape& step, const GpuModel& gpu) {
  Costs costs;
  for (size_t i = 0; i < items.size(); ++i) {
    const TileShape& shape = kTileShapes[static_cast<size_t>(shapes[i])];
    CostedItem item{.lane_tiles = ceil_div(items[i].lanes, shape.lanes),
                    .most_parts = std::max<int64_t>(1, items[i].key_tiles / kLeastTilesOfPart),
                    .partial_bytes = partial_bytes(items[i].lanes, step)};
    item.block_us = item_us(items[i], shape, step, gpu) / static_cast<double>(item.lane_tiles);
    if (item.block_us > costs.longest_us) {
      costs.longest_us = item.block_us;
      costs.resident = resident_blocks(shape, step.head_dim, gpu);
      costs.most_parts = item.most_parts;
    }
    costs.items.push_back(item);
  }
  costs.all_us = all_us(items, shapes, step, gpu);
  return costs;
}

int32_t parts_for(const CostedItem& item, double share_us) {
  const auto wanted = static_cast<int64_t>(std::llround(item.block_us / share_us));
  return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, item.most_parts));
}

// Time of the step if each block takes `share_us` of an SM: whole waves of blocks, plus the cost of
// partial results.
double step_us(const Costs& costs, double share_us, const GpuModel& gpu) {
  const double slots = static_cast<double>(gpu.sms * costs.resident);
  const double waves = std::ceil(costs.all_us / (share_us * slots) - 1e-9);
  double us = waves * share_us * static_cast<double>(costs.resident);
  bool is_split = false;
  for (const CostedItem& item : costs.items) {
    const int32_t parts = parts_for(item, share_us);
    if (parts == 1) continue;
    is_split = true;
    us += static_cast<double>(parts * item.partial_bytes) / gpu.dram_bytes_per_us();
  }
  return is_split ? us + kLaunchUs : us;
}

void choose_parts(const Costs& costs, const GpuModel& gpu, TileChoice& choice) {
  std::vector<double> us;  // for 1, 2, ... parts of the longest item
  for (int64_t parts = 1; parts <= std::min(kMostParts, costs.most_parts); ++parts)
    us.push_back(step_us(costs, costs.longest_us / static_cast<double>(parts), gpu));
  const double good_us = kAsGood * *std::min_element(us.begin(), us.end());
  const auto chosen =
      std::find_if(us.begin(), us.end(), [&](double one) { return one <= good_us; });
  choice.estimate_us = *chosen;
  const double share = costs.longest_us / static_cast<double>(chosen - us.begin() + 1);
  for (size_t i = 0; i < costs.items.size(); ++i)
    choice.parts[i] = parts_for(costs.items[i], share);
}

}  // namespace

void require_head_dim(int64_t head_dim) {
  if (std::find(kHeadDims.begin(), kHeadDims.end(), head_dim) != kHeadDims.end()) return;
  std::string known;
  for (const int dim : kHeadDims) known += (known.empty() ? "" : ", ") + std::to_string(dim);
  raise_shape(
      "head_dim {}: the CUDA attention kernel is compiled for {}; use --device cpu, or add the "
      "size to kHeadDims in core/kernels/attention/cuda/tiles.h",
      head_dim, known);
}

void require_kv_dtype(DType dtype) {
  if (dtype == DType::kF32)
    raise(
        "a KV cache of f32 on device cuda: its attention multiplies bf16 or f16 alone; choose one "
        "of these for the cache (--set kv_dtype=f16 of an experiment, else --kv-dtype f16), or "
        "--device cpu");
}

std::string text_of(const TileShape& shape) {
  return fmt::format("{}x{}:{}x{}:{}{}", shape.lanes, shape.keys, shape.lane_warps, shape.key_warps,
                     shape.stages, shape.by_warpgroups ? ":wgmma" : "");
}

void require_compiled(const TileShape& shape, int64_t head_dim, bool has_sm90a_code) {
  if (!shape.has_head_dim(head_dim))
    raise_shape("attention tile \"{}\" is for head sizes that are multiples of 64, not {}",
                text_of(shape), head_dim);
  if (shape.by_warpgroups && !has_sm90a_code)
    raise(
        "attention tile \"{}\" needs a build for sm_90a: configure with "
        "-DCMAKE_CUDA_ARCHITECTURES=90a-real",
        text_of(shape));
}

int32_t parse_tile(std::string_view text) {
  std::string known;
  for (size_t i = 0; i < kTileShapes.size(); ++i) {
    if (text_of(kTileShapes[i]) == text) return static_cast<int32_t>(i);
    known += (i == 0 ? "" : ", ") + text_of(kTileShapes[i]);
  }
  raise("attention tile \"{}\" is not compiled; known, as lanes x keys : warps : stages: {}", text,
        known);
}

std::span<const int32_t> tiles_of(Architecture architecture) {
  if (architecture == Architecture::kSm80) return kTilesSm80;
  return kTilesSm90;
}

int64_t resident_blocks(const TileShape& shape, int64_t head_dim, const GpuModel& gpu) {
  constexpr int64_t kReserved = 1 << 10;  // shared memory of a block that the driver reserves
  const int64_t fitting = gpu.shared_bytes / (shape.shared_bytes(head_dim) + kReserved);
  return std::clamp<int64_t>(fitting, 1, shape.blocks);
}

double item_us(const ItemLoad& item, const TileShape& shape, const StepShape& step,
               const GpuModel& gpu) {
  const double lane_tiles = static_cast<double>(ceil_div(item.lanes, shape.lanes));
  const double key_tiles = std::ceil(item.mean_keys / shape.keys);
  const auto bytes = static_cast<double>(2 * shape.keys * step.head_dim * kKvBytes);
  const auto pairs = static_cast<double>(shape.lanes * shape.keys);
  const auto tile_us = [&](double memory_us) {
    const std::array<double, 4> us = {
        memory_us, 4.0 * pairs * static_cast<double>(step.head_dim) / gpu.flops_per_us(),
        pairs / gpu.exponentials_per_us(),
        // Written once, and read by each row of warps or warpgroups.
        bytes * (1 + shape.readers()) / gpu.shared_bytes_per_us()};
    const double longest = *std::max_element(us.begin(), us.end());
    const double sum = std::accumulate(us.begin(), us.end(), 0.0);
    return gpu.sms * (longest + kOverlapLoss * (sum - longest));
  };
  const double first_rate = item.is_in_l2 ? gpu.l2_bytes_per_us() : gpu.dram_bytes_per_us();
  return key_tiles * (tile_us(bytes / first_rate) +
                      (lane_tiles - 1.0) * tile_us(bytes / gpu.l2_bytes_per_us()));
}

TileChoice choose_tiles(std::span<const ItemLoad> items, const StepShape& step, const GpuModel& gpu,
                        const TileOverride& wanted) {
  if (wanted.shape) {
    const TileShape& shape = kTileShapes[static_cast<size_t>(*wanted.shape)];
    // the launch reports missing code
    require_compiled(shape, step.head_dim, /*has_sm90a_code=*/true);
    if (shape.by_warpgroups && !gpu.has_warpgroups)
      raise_shape("attention tile \"{}\" needs a GPU of compute capability 9.0 (H100, H200)",
                  text_of(shape));
  }
  TileChoice choice;
  choice.parts.assign(items.size(), 1);
  choice.shapes = wanted.shape ? std::vector<int32_t>(items.size(), *wanted.shape)
                               : cheapest_shapes(items, step, gpu);
  const Costs costs = costs_of(items, choice.shapes, step, gpu);
  if (costs.all_us == 0.0) return choice;  // no row sees a key
  if (wanted.parts == 0) {
    choose_parts(costs, gpu, choice);
    return choice;
  }
  for (size_t i = 0; i < items.size(); ++i)
    choice.parts[i] = static_cast<int32_t>(
        std::clamp<int64_t>(wanted.parts, 1, std::max<int64_t>(1, items[i].key_tiles)));
  choice.estimate_us = step_us(costs, costs.longest_us / wanted.parts, gpu);
  return choice;
}

double reads_us(const RunReads& reads, const GpuModel& gpu) {
  const StepShape step{.kv_heads = reads.kv_heads, .head_dim = reads.head_dim};
  const ItemLoad first{.lanes = reads.rows * (reads.heads / reads.kv_heads),
                       .mean_keys = static_cast<double>(reads.tokens),
                       .key_tiles = ceil_div(reads.tokens, kKeyTile)};
  ItemLoad again = first;
  again.is_in_l2 =
      2 * reads.tokens * reads.kv_heads * reads.head_dim * kKvBytes <= gpu.l2_bytes / 2;
  const TileShape& shape = kTileShapes[static_cast<size_t>(cheapest_shape(first, step, gpu))];
  const double sm_us = static_cast<double>(reads.kv_heads) *
                       (item_us(first, shape, step, gpu) +
                        static_cast<double>(reads.items - 1) * item_us(again, shape, step, gpu));

  const int64_t blocks = reads.items * ceil_div(first.lanes, shape.lanes) * reads.kv_heads;
  const int64_t slots = gpu.sms * resident_blocks(shape, reads.head_dim, gpu);
  const int64_t parts = std::clamp<int64_t>(
      slots / blocks, 1, std::max<int64_t>(1, first.key_tiles / kLeastTilesOfPart));
  const double filled =
      std::min(1.0, static_cast<double>(blocks * parts) / static_cast<double>(slots));
  double us = sm_us / (gpu.sms * filled);
  if (parts == 1 && !reads.leaves_partials) return us;
  us += static_cast<double>(parts * reads.items * partial_bytes(first.lanes, step)) /
        gpu.dram_bytes_per_us();
  return reads.is_merged ? us : us + kLaunchUs;
}

}  // namespace reprise::kernels::cuda
