#include "core/kernels/attention/cuda/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise::kernels::cuda {
namespace {

constexpr GpuModel kGpus[] = {kA100, kH100, kH200};
constexpr StepShape kLlama = {.kv_heads = 32, .head_dim = 128};

ItemLoad item_of(int64_t lanes, int64_t keys) {
  return {.lanes = lanes,
          .mean_keys = static_cast<double>(keys),
          .key_tiles = (keys + kKeyTile - 1) / kKeyTile};
}

int32_t lanes_chosen(const ItemLoad& item, const GpuModel& gpu) {
  const TileChoice choice = choose_tiles({&item, 1}, kLlama, gpu);
  return kTileShapes[static_cast<size_t>(choice.shapes[0])].lanes;
}

// The kernel's source relies on these facts.
TEST(CudaTiles, EveryShapeIsOneTheKernelCanHave) {
  for (const TileShape& shape : kTileShapes) {
    EXPECT_EQ(shape.lanes, 16 * shape.lane_warps) << text_of(shape);
    EXPECT_EQ(shape.keys % kKeyTile, 0) << text_of(shape);
    EXPECT_EQ(shape.keys % (16 * shape.key_warps), 0) << text_of(shape);
    EXPECT_LE(shape.threads(), 1024) << text_of(shape);
    // A thread needs registers for the queries and sums of head size 128, and for addresses.
    EXPECT_GE(65536 / (shape.threads() * shape.blocks), 168) << text_of(shape);
  }
  for (const int dim : kHeadDims) EXPECT_EQ(dim % 16, 0);
}

// The table's shapes must fit an SM: its shared memory must hold as many blocks as its registers
// do, or two on sm_80.
TEST(CudaTiles, EveryShapeOfAnArchitectureFitsItsSharedMemory) {
  for (const GpuModel& gpu : kGpus)
    for (const int32_t index : tiles_of(gpu.architecture))
      for (const int dim : kHeadDims) {
        const TileShape& shape = kTileShapes[static_cast<size_t>(index)];
        if (!shape.has_head_dim(dim)) continue;
        EXPECT_LE(shape.shared_bytes(dim), gpu.shared_block_bytes) << text_of(shape);
        EXPECT_GE(resident_blocks(shape, dim, gpu), gpu.architecture == Architecture::kSm80
                                                        ? std::min(shape.blocks, 2)
                                                        : shape.blocks)
            << text_of(shape) << " of head size " << dim << " on " << gpu.name;
      }
  // Two blocks with three stages of head size 128 need 2 * (3 * 2 * 64 * 136 * 2 + 1024) bytes,
  // more than an SM of an A100 has.
  EXPECT_EQ(resident_blocks(kTileShapes[1], 128, kA100), 1);
}

TEST(CudaTiles, FewLanesGetSmallTilesAndManyLargeOnes) {
  for (const GpuModel& gpu : kGpus) {
    EXPECT_EQ(lanes_chosen(item_of(1, 4096), gpu), 16) << gpu.name;
    EXPECT_EQ(lanes_chosen(item_of(16, 4096), gpu), 16) << gpu.name;
    EXPECT_EQ(lanes_chosen(item_of(32, 4096), gpu),
              gpu.architecture == Architecture::kSm80 ? 64 : 32)
        << gpu.name;
    EXPECT_EQ(lanes_chosen(item_of(128, 4096), gpu), 128) << gpu.name;
    EXPECT_EQ(lanes_chosen(item_of(4096, 4096), gpu), 128) << gpu.name;
  }
}

TEST(CudaTiles, PartsFillAnEmptyMachineAndLeaveAFullOneAlone) {
  for (const GpuModel& gpu : kGpus) {
    // One sequence of 8 kv heads makes 8 blocks, for hundreds of slots.
    const std::vector<ItemLoad> one = {item_of(4, 32768)};
    const StepShape few_heads{.kv_heads = 8, .head_dim = 128};
    const TileChoice alone = choose_tiles(one, few_heads, gpu);
    EXPECT_GE(8 * alone.parts[0], gpu.sms) << gpu.name;
    // 64 sequences of 32 kv heads: each slot gets several blocks.
    const std::vector<ItemLoad> many(64, item_of(1, 2048));
    for (const int32_t parts : choose_tiles(many, kLlama, gpu).parts) EXPECT_LE(parts, 2);
    // Short items are not worth a merge.
    const std::vector<ItemLoad> short_ones = {item_of(1, 100)};
    EXPECT_EQ(choose_tiles(short_ones, few_heads, gpu).parts[0], 1);
  }
}

// If a long sequence among short ones were not cut, the step would have to wait for it.
TEST(CudaTiles, TheLongItemIsCutAndTheShortOnesAreNot) {
  std::vector<ItemLoad> items(8, item_of(1, 256));
  items[3] = item_of(1, 65536);
  const TileChoice choice = choose_tiles(items, {.kv_heads = 4, .head_dim = 64}, kH100);
  EXPECT_GT(choice.parts[3], 16);
  for (size_t i = 0; i < items.size(); ++i) EXPECT_EQ(choice.parts[i] == 1, i != 3) << i;
}

TEST(CudaTiles, PartsHaveKeyTilesOfTheirOwn) {
  for (const int64_t keys : {1, 64, 65, 128, 129, 300, 5000})
    for (const int64_t lanes : {1, 20, 100}) {
      const ItemLoad item = item_of(lanes, keys);
      for (const int32_t wanted : {0, 1, 3, 1000}) {
        const TileChoice choice =
            choose_tiles({&item, 1}, {.kv_heads = 1, .head_dim = 128}, kH200, {.parts = wanted});
        EXPECT_GE(choice.parts[0], 1);
        EXPECT_LE(choice.parts[0], item.key_tiles);
        EXPECT_TRUE(wanted == 0 || choice.parts[0] == std::min<int64_t>(wanted, item.key_tiles));
      }
    }
}

TEST(CudaTiles, AnOverrideIsTakenAsItIs) {
  const std::vector<ItemLoad> items = {item_of(1, 500), item_of(500, 500)};
  for (size_t shape = 0; shape < kTileShapes.size(); ++shape)
    for (const int32_t chosen :
         choose_tiles(items, kLlama, kH100, {.shape = static_cast<int32_t>(shape)}).shapes)
      EXPECT_EQ(chosen, static_cast<int32_t>(shape));
}

// The index of the shape that needs sm_90a.
int32_t warpgroup_shape() {
  for (size_t i = 0; i < kTileShapes.size(); ++i)
    if (kTileShapes[i].by_warpgroups) return static_cast<int32_t>(i);
  return -1;
}

TEST(CudaTiles, WarpgroupsAreRefusedWhereTheyCannotBe) {
  const std::vector<ItemLoad> items = {item_of(500, 500)};
  const auto error_of = [&](int64_t head_dim, const GpuModel& gpu) {
    try {
      (void)choose_tiles(items, {.kv_heads = 4, .head_dim = head_dim}, gpu,
                         {.shape = warpgroup_shape()});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of(128, kH100), "");
  EXPECT_EQ(error_of(64, kH200), "");
  EXPECT_NE(error_of(80, kH100).find("multiples of 64, not 80"), std::string::npos);
  EXPECT_NE(error_of(128, kA100).find("compute capability 9.0"), std::string::npos);
  EXPECT_NE(error_of(128, gpu_model("B200", 10, 0, 148)).find("9.0"), std::string::npos);
  EXPECT_EQ(error_of(128, gpu_model("NVIDIA H100 80GB HBM3", 9, 0, 132)), "");
}

TEST(CudaTiles, ABuildWithoutSm90aSaysWhatItNeeds) {
  const TileShape& shape = kTileShapes[static_cast<size_t>(warpgroup_shape())];
  EXPECT_NO_THROW(require_compiled(shape, 128, true));
  EXPECT_NO_THROW(require_compiled(kTileShapes[0], 80, false));
  try {
    require_compiled(shape, 128, false);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("90a-real"), std::string::npos) << error.what();
  }
}

TEST(CudaTiles, ManyLanesAreMultipliedByWarpgroupsWhereThereAreSome) {
  const ItemLoad many = item_of(4096, 4096);
  const auto chosen = [&](const GpuModel& gpu, int64_t head_dim) {
    return choose_tiles({&many, 1}, {.kv_heads = 32, .head_dim = head_dim}, gpu).shapes[0];
  };
  for (const GpuModel& gpu : {kH100, kH200}) {
    EXPECT_EQ(chosen(gpu, 128), warpgroup_shape()) << gpu.name;
    EXPECT_EQ(chosen(gpu, 64), warpgroup_shape()) << gpu.name;
    EXPECT_NE(chosen(gpu, 80), warpgroup_shape()) << gpu.name;
    GpuModel without = gpu;  // as in a program without code for warpgroups
    without.has_warpgroups = false;
    EXPECT_NE(chosen(without, 128), warpgroup_shape()) << gpu.name;
  }
  EXPECT_NE(chosen(kA100, 128), warpgroup_shape());
}

// With warpgroups, a tile is read from shared memory once for 64 lanes instead of 16, and its rows
// have no padding. Queries are in shared memory too.
TEST(CudaTiles, WarpgroupsReadSharedMemoryLess) {
  const TileShape& shape = kTileShapes[static_cast<size_t>(warpgroup_shape())];
  EXPECT_EQ(shape.readers(), 2);
  EXPECT_EQ(kTileShapes[3].readers(), 8);
  EXPECT_EQ(shape.shared_bytes(128), (3 * 2 * 128 + 128) * 128 * 2 + kControlBytes);
  EXPECT_LE(shape.shared_bytes(128), kH100.shared_block_bytes);
  const StepShape step{.kv_heads = 1, .head_dim = 128};
  EXPECT_LT(item_us(item_of(4096, 4096), shape, step, kH100),
            0.75 * item_us(item_of(4096, 4096), kTileShapes[3], step, kH100));
}

// The longest of four times plus a tenth of the others. Computes the expected values.
double overlapped(std::array<double, 4> us) {
  std::sort(us.begin(), us.end());
  return us[3] + 0.1 * (us[0] + us[1] + us[2]);
}

TEST(CudaTiles, TheCostOfAnItemIsItsSlowestPartAndATenthOfTheOthers) {
  const StepShape step{.kv_heads = 1, .head_dim = 128};
  // A100, 1 lane in a tile of 16, 64 key tiles of 2 * 64 * 128 * 2 bytes: 2039 GB/s, 312 TFLOP/s
  // and 1.41 GHz over 108 SMs; the bytes are written to shared memory once and read once.
  EXPECT_NEAR(item_us(item_of(1, 4096), kTileShapes[0], step, kA100),
              64 * overlapped({32768 / (2039e3 / 108), 4.0 * 16 * 64 * 128 / (312e6 / 108),
                               2 * 16 * 64 / (16 * 1410.0), 2 * 32768 / (128 * 1410.0)}),
              1e-6);
  // H200, 128 lanes: eight rows of warps read each tile.
  const double product_us = 4.0 * 128 * 64 * 128 / (989.4e6 / 132),
               softmax_us = 2 * 128 * 64 / (16 * 1830.0), shared_us = 9 * 32768 / (128 * 1830.0);
  const double first_us = overlapped({32768 / (4800e3 / 132), product_us, softmax_us, shared_us});
  EXPECT_NEAR(item_us(item_of(128, 4096), kTileShapes[3], step, kH200), 64 * first_us, 1e-6);
  // The second tile of lanes finds the keys in L2: 5313 GB/s for 132 SMs.
  const double second_us = overlapped({32768 / (5313e3 / 132), product_us, softmax_us, shared_us});
  EXPECT_NEAR(item_us(item_of(256, 4096), kTileShapes[3], step, kH200), 64 * (first_us + second_us),
              1e-6);
  EXPECT_EQ(item_us(item_of(4, 0), kTileShapes[0], step, kA100), 0.0);
}

// For steps of one shared item and private items: according to the model, no single shape is faster
// than the choice, which may have several shapes.
TEST(CudaTiles, NoShapeForAllItemsIsBetterThanTheChoice) {
  std::set<size_t> numbers;
  for (const GpuModel& gpu : kGpus)
    for (const int64_t shared_keys : {128, 1024, 4096, 32768})
      for (const int64_t own_keys : {16, 64, 1024, 8192})
        for (const int64_t lanes : {2, 32, 200}) {
          std::vector<ItemLoad> items = {item_of(lanes, shared_keys)};
          items.resize(33, item_of(1, own_keys));
          const TileChoice choice = choose_tiles(items, kLlama, gpu);
          numbers.insert(std::set<int32_t>(choice.shapes.begin(), choice.shapes.end()).size());
          for (const int32_t shape : tiles_of(gpu.architecture))
            EXPECT_LE(choice.estimate_us,
                      choose_tiles(items, kLlama, gpu, {.shape = shape}).estimate_us)
                << gpu.name << ": " << text_of(kTileShapes[static_cast<size_t>(shape)]);
        }
  EXPECT_EQ(numbers, (std::set<size_t>{1, 2}));
}

TEST(CudaTiles, ADeviceGetsTheNearestModel) {
  EXPECT_EQ(gpu_model("NVIDIA A100-SXM4-80GB", 8, 0, 108).name, kA100.name);
  EXPECT_EQ(gpu_model("NVIDIA H100 80GB HBM3", 9, 0, 132).name, kH100.name);
  EXPECT_EQ(gpu_model("NVIDIA H200", 9, 0, 132).name, kH200.name);
  EXPECT_EQ(gpu_model("NVIDIA H100 PCIe", 9, 0, 114).sms, 114);
  EXPECT_THROW(gpu_model("Tesla V100", 7, 0, 80), Error);
  const GpuModel l4 = gpu_model("NVIDIA L4", 8, 9, 58);
  for (const int32_t index : tiles_of(l4.architecture))
    for (const int dim : kHeadDims)
      EXPECT_LE(kTileShapes[static_cast<size_t>(index)].shared_bytes(dim), l4.shared_block_bytes);
}

// Compute capability 12.0 has less shared memory than 9.0, but chooses among 9.0's shapes.
TEST(CudaTiles, ShapesFitIntoTheSharedMemoryOfABlock) {
  const GpuModel gpu = gpu_model("NVIDIA GeForce RTX 5090", 12, 0, 170);
  EXPECT_EQ(gpu.shared_block_bytes, 99 << 10);
  for (const int dim : kHeadDims)
    for (const int64_t lanes : {1, 20, 32, 64, 500})
      for (const int64_t keys : {64, 500, 5000, 50000}) {
        const ItemLoad item = item_of(lanes, keys);
        for (const int32_t shape :
             choose_tiles({&item, 1}, {.kv_heads = 8, .head_dim = dim}, gpu).shapes)
          EXPECT_LE(kTileShapes.at(static_cast<size_t>(shape)).shared_bytes(dim), 99 << 10)
              << "head size " << dim << ", " << lanes << " lanes, " << keys << " keys";
      }
  const ItemLoad item = item_of(1, 500);
  EXPECT_NO_THROW(
      (void)choose_tiles({&item, 1}, {.kv_heads = 8, .head_dim = 64}, gpu, {.shape = 1}));
  try {
    (void)choose_tiles({&item, 1}, {.kv_heads = 8, .head_dim = 128}, gpu, {.shape = 1});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("104448 bytes of shared memory at head size 128"),
              std::string::npos)
        << error.what();
  }
}

TEST(CudaTiles, NamesAreReadBackAndUnknownOnesSayWhatThereIs) {
  for (size_t i = 0; i < kTileShapes.size(); ++i)
    EXPECT_EQ(parse_tile(text_of(kTileShapes[i])), static_cast<int32_t>(i));
  EXPECT_EQ(text_of(kTileShapes[0]), "16x64:1x4:2");
  EXPECT_EQ(text_of(kTileShapes[4]), "128x128:8x1:3:wgmma");
  EXPECT_EQ(text_of(kTileShapes[6]), "128x128:8x1:3:wgmma:tma");
  try {
    parse_tile("32x64:2x2:2");
    FAIL() << "not compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("64x64:4x1:2"), std::string::npos) << error.what();
  }
  EXPECT_THROW(require_head_dim(72), ShapeError);
  EXPECT_NO_THROW(require_head_dim(80));
}

// ---- runs of tokens that several sequences read ----

RunReads reads_of(int64_t tokens, int64_t items, int64_t rows) {
  return {.heads = 32,
          .kv_heads = 32,
          .head_dim = 128,
          .tokens = tokens,
          .items = items,
          .rows = rows,
          .leaves_partials = rows > 1};
}

TEST(CudaReads, ALongRunOfManyIsReadOnceAndAShortOneOfTwoByEach) {
  for (const GpuModel& gpu : kGpus) {
    // One read of 4096 tokens for 32 rows takes less than an eighth of the time of 32 reads.
    EXPECT_LT(8 * reads_us(reads_of(4096, 1, 32), gpu), reads_us(reads_of(4096, 32, 1), gpu))
        << gpu.name;
    // For 64 tokens and two rows, one read costs more than two, because it needs a launch to merge.
    EXPECT_GT(reads_us(reads_of(64, 1, 2), gpu), reads_us(reads_of(64, 2, 1), gpu)) << gpu.name;
    // For 4096 tokens, if that launch is needed anyway, one read costs less.
    RunReads shared = reads_of(4096, 1, 2), alone = reads_of(4096, 2, 1);
    shared.is_merged = alone.is_merged = alone.leaves_partials = true;
    EXPECT_LT(reads_us(shared, gpu), reads_us(alone, gpu)) << gpu.name;
  }
}

TEST(CudaReads, WhatL2HoldsIsReadFromMemoryOnce) {
  // 2048 tokens of 8 heads take 8.4 MB, less than half of the 40 MiB of L2; 32 heads take 33.6 MB,
  // more.
  RunReads few = reads_of(2048, 16, 1), many = few;
  few.heads = few.kv_heads = 8;
  const double once_few =
      reads_us({.heads = 8, .kv_heads = 8, .head_dim = 128, .tokens = 2048}, kA100);
  EXPECT_LT(reads_us(few, kA100), 16 * once_few);
  EXPECT_GT(reads_us(many, kA100) / 32, reads_us(few, kA100) / 8);
}

// One lane of 4096 tokens of 32 heads on an A100 gives 32 blocks for 216 slots. Each is cut into 6
// parts, which fill 192 slots.
TEST(CudaReads, BlocksThatDoNotFillTheMachineAreCut) {
  const StepShape step{.kv_heads = 32, .head_dim = 128};
  const double sm_us = 32 * item_us(item_of(1, 4096), kTileShapes[0], step, kA100);
  const double partials_us = 6 * 2 * 32 * 130 * 4 / 2039e3;
  EXPECT_NEAR(reads_us(reads_of(4096, 1, 1), kA100),
              sm_us / (108 * 192.0 / 216.0) + 3.5 + partials_us + 3.0, 1e-6);
  // If results are merged anyway, cutting needs no further launch.
  RunReads merged = reads_of(4096, 1, 1);
  merged.is_merged = true;
  EXPECT_NEAR(reads_us(merged, kA100), reads_us(reads_of(4096, 1, 1), kA100) - 3.0, 1e-6);
}

// The choice must cost little according to the kernels' own model, which estimates both plans as a
// whole.
TEST(CudaReads, TheChoiceAgreesWithTheEstimateOfTheWholeStep) {
  std::mt19937_64 random(5);
  const auto one_of = [&](auto... values) {
    const int64_t all[] = {values...};
    return all[std::uniform_int_distribution<size_t>(0, sizeof...(values) - 1)(random)];
  };
  for (int round = 0; round < 400; ++round) {
    const GpuModel& gpu = kGpus[one_of(0, 1, 2)];
    const int64_t kv_heads = one_of(4, 8, 32), group = one_of(1, 4, 8);
    const int64_t sequences = one_of(2, 3, 8, 32, 64);
    const int64_t tokens = one_of(16, 64, 200, 1024, 2048, 8192);
    const StepShape step{.kv_heads = kv_heads, .head_dim = 128};
    RunReads reads{.heads = kv_heads * group, .kv_heads = kv_heads, .head_dim = 128};
    reads.tokens = tokens;
    reads.rows = sequences;
    reads.leaves_partials = true;
    const double shared_us = reads_us(reads, gpu);
    reads.items = sequences;
    reads.rows = 1;
    reads.leaves_partials = false;
    const bool shares = shared_us < reads_us(reads, gpu);

    const ItemLoad all = item_of(sequences * group, tokens);
    std::vector<ItemLoad> each(static_cast<size_t>(sequences), item_of(group, tokens));
    for (size_t i = 1; i < each.size(); ++i)
      each[i].is_in_l2 = 2 * tokens * kv_heads * 128 * 2 <= gpu.l2_bytes / 2;
    constexpr double kMergeUs = 3.0;
    const TileChoice choice = choose_tiles({&all, 1}, step, gpu);
    const double whole_us = choice.estimate_us + (choice.parts[0] == 1 ? kMergeUs : 0.0);
    const double each_us = choose_tiles(each, step, gpu).estimate_us;
    // The step's estimate counts whole waves of blocks, each as long as its longest block.
    const double best_us = std::min(whole_us, each_us);
    EXPECT_LT(shares ? whole_us : each_us, 1.2 * best_us + 3.0)
        << gpu.name << ": " << sequences << " sequences, " << tokens << " tokens, " << kv_heads
        << " kv heads of " << group << ": together " << whole_us << " us, each " << each_us;
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda
