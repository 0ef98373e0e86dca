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
constexpr std::array<int32_t, 5> kTilesSm90 = {0, 1, 2, 4, 5};

// Microseconds of one more launch (kLaunchUs), of the launch that merges (kMergeUs), and of a
// block's waits before its first product and after its last product (kBlockUs). Measured on an H200
// and an H100 with steps like those of the papers (docs/gpu_results.md). A block that follows
// others on its SM waits less, because other blocks compute meanwhile: it waits kLaterBlocks *
// kBlockUs if an SM runs several blocks at once, else kLaterLoneBlocks * kBlockUs.
constexpr double kLaunchUs = 6.0, kMergeUs = 3.0, kBlockUs = 3.5;
constexpr double kLaterBlocks = 0.6, kLaterLoneBlocks = 0.95;  // shares of kBlockUs
// Cost of the softmax of a score, in units of the time of one exponential: the other arithmetic
// takes as long as the exponential.
constexpr double kSoftmaxCost = 2.0;
// A part has at least two key tiles, so that one is copied while the other is computed.
constexpr int64_t kLeastTilesOfPart = 2;
constexpr double kOverlapLoss = 0.1;  // share of the shorter times that is not hidden
constexpr int64_t kMostParts = 64;
// Ratio of two cuts' times below which they count as equal. The cut with fewer parts then wins,
// because it has fewer partial results.
constexpr double kAsGood = 1.03;

constexpr int64_t kKvBytes = 2;  // bytes of a bf16 or f16 element

// Bytes of memory traffic for the partial results of a part with `lanes` lanes of each kv head:
// each is written once and read once.
int64_t partial_bytes(int64_t lanes, const StepShape& step) {
  return 2 * lanes * step.kv_heads * (step.head_dim + 2) * 4;
}

// The costs of one item with its chosen shape.
struct CostedItem {
  size_t index = 0;  // in the step
  int64_t lane_tiles = 1;
  int64_t most_parts = 1;
  int64_t partial_bytes = 0;  // partial_bytes() of one part
  double block_us = 0.0;      // SM time of one of its lane tiles, for one kv head
};

// The items of one launch, which have the same shape.
struct Launch {
  std::vector<CostedItem> items;
  double all_us = 0.0;      // SM time of all blocks together
  double longest_us = 0.0;  // SM time of the longest block
  double resident = 1.0;    // resident blocks of an SM
  int64_t kv_heads = 1;
  int64_t most_parts = 1;  // of the longest item
};

// Returns the shapes that `gpu` can use for the step's head size.
std::vector<int32_t> shapes_for(const StepShape& step, const GpuModel& gpu) {
  std::vector<int32_t> shapes;
  for (const int32_t index : tiles_of(gpu.architecture)) {
    const TileShape& shape = kTileShapes[static_cast<size_t>(index)];
    if (shape.has_head_dim(step.head_dim) && (gpu.has_warpgroups || !shape.by_warpgroups) &&
        shape.shared_bytes(step.head_dim) <= gpu.shared_block_bytes)
      shapes.push_back(index);
  }
  return shapes;
}

int32_t cheapest_shape(const ItemLoad& item, const StepShape& step, const GpuModel& gpu) {
  int32_t best = -1;
  double best_us = 0.0;
  for (const int32_t index : shapes_for(step, gpu)) {
    const double us = item_us(item, kTileShapes[static_cast<size_t>(index)], step, gpu);
    if (best >= 0 && us >= best_us) continue;
    best = index;
    best_us = us;
  }
  return best;
}

Launch launch_of(std::span<const ItemLoad> items, std::span<const int32_t> shapes, int32_t index,
                 const StepShape& step, const GpuModel& gpu) {
  const TileShape& shape = kTileShapes[static_cast<size_t>(index)];
  Launch launch{.resident = static_cast<double>(resident_blocks(shape, step.head_dim, gpu)),
                .kv_heads = step.kv_heads};
  for (size_t i = 0; i < items.size(); ++i) {
    if (shapes[i] != index) continue;
    CostedItem item{.index = i,
                    .lane_tiles = ceil_div(items[i].lanes, shape.lanes),
                    .most_parts = std::max<int64_t>(1, items[i].key_tiles / kLeastTilesOfPart),
                    .partial_bytes = partial_bytes(items[i].lanes, step)};
    const double us = item_us(items[i], shape, step, gpu);
    item.block_us = us / static_cast<double>(item.lane_tiles);
    if (item.block_us > launch.longest_us) {
      launch.longest_us = item.block_us;
      launch.most_parts = item.most_parts;
    }
    launch.all_us += us * static_cast<double>(step.kv_heads);
    launch.items.push_back(item);
  }
  return launch;
}

int32_t parts_for(const CostedItem& item, double share_us) {
  const auto wanted = static_cast<int64_t>(std::llround(item.block_us / share_us));
  return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, item.most_parts));
}

// Microseconds in which the device waits for blocks to begin and to end, if each SM runs `resident`
// of the `blocks` blocks at once and the other blocks follow.
double waits_us(double blocks, double resident, const GpuModel& gpu) {
  const double later = std::max(0.0, blocks / (gpu.sms * resident) - 1.0);
  return kBlockUs * (1.0 + (resident > 1.0 ? kLaterBlocks : kLaterLoneBlocks) * later);
}

// A division of a launch's items into parts, and the launch's time in microseconds.
struct Cut {
  std::vector<int32_t> parts;  // of launch.items
  double us = 0.0;
  bool is_split = false;
};

// Returns the cut with the given parts. Its time is the sum of three: whole waves of blocks that
// take `share_us` each, the waits of blocks, and writing and reading partial results.
Cut cut_into(const Launch& launch, std::vector<int32_t> parts, double share_us,
             const GpuModel& gpu) {
  Cut cut{.parts = std::move(parts)};
  const double slots = gpu.sms * launch.resident;
  int64_t blocks = 0;
  for (size_t i = 0; i < launch.items.size(); ++i) {
    const CostedItem& item = launch.items[i];
    blocks += cut.parts[i] * item.lane_tiles * launch.kv_heads;
    if (cut.parts[i] == 1) continue;
    cut.is_split = true;
    cut.us += static_cast<double>(cut.parts[i] * item.partial_bytes) / gpu.dram_bytes_per_us();
  }
  const double waves = std::ceil(launch.all_us / (share_us * slots) - 1e-9);
  cut.us += waves * share_us * launch.resident +
            waits_us(static_cast<double>(blocks), launch.resident, gpu);
  return cut;
}

// Tries to cut the longest item into 1, 2, ... parts, and the other items into parts that take
// about as long as one of these; returns the best of these cuts.
Cut best_cut(const Launch& launch, const GpuModel& gpu) {
  std::vector<Cut> cuts;
  for (int64_t parts = 1; parts <= std::min(kMostParts, launch.most_parts); ++parts) {
    const double share_us = launch.longest_us / static_cast<double>(parts);
    std::vector<int32_t> all;
    for (const CostedItem& item : launch.items) all.push_back(parts_for(item, share_us));
    cuts.push_back(cut_into(launch, std::move(all), share_us, gpu));
  }
  const auto with_merge = [](const Cut& cut) { return cut.us + (cut.is_split ? kMergeUs : 0.0); };
  double least_us = with_merge(cuts[0]);
  for (const Cut& cut : cuts) least_us = std::min(least_us, with_merge(cut));
  return *std::find_if(cuts.begin(), cuts.end(),
                       [&](const Cut& cut) { return with_merge(cut) <= kAsGood * least_us; });
}

Cut wanted_cut(const Launch& launch, std::span<const ItemLoad> items, int32_t wanted,
               const GpuModel& gpu) {
  std::vector<int32_t> parts;
  for (const CostedItem& item : launch.items)
    parts.push_back(static_cast<int32_t>(
        std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, items[item.index].key_tiles))));
  return cut_into(launch, std::move(parts), launch.longest_us / wanted, gpu);
}

// Chooses the parts of items that have the given shapes, and estimates the time of all launches,
// which run one after the other.
TileChoice choice_for(std::span<const ItemLoad> items, std::vector<int32_t> shapes,
                      const StepShape& step, const GpuModel& gpu, int32_t wanted_parts) {
  TileChoice choice{.parts = std::vector<int32_t>(items.size(), 1)};
  bool is_split = false;
  const std::set<int32_t> used(shapes.begin(), shapes.end());
  for (const int32_t index : used) {
    const Launch launch = launch_of(items, shapes, index, step, gpu);
    if (launch.all_us == 0.0) continue;  // no row sees a key
    const Cut cut =
        wanted_parts == 0 ? best_cut(launch, gpu) : wanted_cut(launch, items, wanted_parts, gpu);
    for (size_t i = 0; i < launch.items.size(); ++i)
      choice.parts[launch.items[i].index] = cut.parts[i];
    choice.estimate_us += cut.us + kLaunchUs;
    is_split |= cut.is_split;
  }
  if (is_split) choice.estimate_us += kMergeUs;
  choice.shapes = std::move(shapes);
  return choice;
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
  return fmt::format("{}x{}:{}x{}:{}{}{}", shape.lanes, shape.keys, shape.lane_warps,
                     shape.key_warps, shape.stages, shape.by_warpgroups ? ":wgmma" : "",
                     shape.by_tensor_maps ? ":tma" : "");
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
        kSoftmaxCost * pairs / gpu.exponentials_per_us(),
        // A tile is written to shared memory once, and read readers() times.
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
    // If the program lacks sm_90a code, the launch reports it.
    require_compiled(shape, step.head_dim, /*has_sm90a_code=*/true);
    if (shape.by_warpgroups && !gpu.has_warpgroups)
      raise_shape("attention tile \"{}\" needs a GPU of compute capability 9.0 (H100, H200)",
                  text_of(shape));
    if (shape.shared_bytes(step.head_dim) > gpu.shared_block_bytes)
      raise_shape(
          "attention tile \"{}\" takes {} bytes of shared memory at head size {}, and a block of "
          "this GPU has {}",
          text_of(shape), shape.shared_bytes(step.head_dim), step.head_dim, gpu.shared_block_bytes);
  }
  const auto choice_of = [&](std::vector<int32_t> shapes) {
    return choice_for(items, std::move(shapes), step, gpu, wanted.parts);
  };
  if (wanted.shape) return choice_of(std::vector<int32_t>(items.size(), *wanted.shape));
  std::vector<int32_t> cheapest;
  for (const ItemLoad& item : items) cheapest.push_back(cheapest_shape(item, step, gpu));
  TileChoice best = choice_of(std::move(cheapest));
  for (const int32_t shape : shapes_for(step, gpu)) {
    TileChoice one = choice_of(std::vector<int32_t>(items.size(), shape));
    if (one.estimate_us < best.estimate_us) best = std::move(one);
  }
  return best;
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
  const int64_t resident = resident_blocks(shape, reads.head_dim, gpu);
  const int64_t slots = gpu.sms * resident;
  const int64_t parts = std::clamp<int64_t>(
      slots / blocks, 1, std::max<int64_t>(1, first.key_tiles / kLeastTilesOfPart));
  const double filled =
      std::min(1.0, static_cast<double>(blocks * parts) / static_cast<double>(slots));
  double us = sm_us / (gpu.sms * filled) +
              waits_us(static_cast<double>(blocks * parts), static_cast<double>(resident), gpu);
  if (parts == 1 && !reads.leaves_partials) return us;
  us += static_cast<double>(parts * reads.items * partial_bytes(first.lanes, step)) /
        gpu.dram_bytes_per_us();
  return reads.is_merged ? us : us + kMergeUs;
}

}  // namespace reprise::kernels::cuda
