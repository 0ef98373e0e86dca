// Rows that the attention kernel merges in the block that arrives last: the same bits as with
// merge_partials(), whichever block that is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/kernels/attention/cuda/attention_device.h"

#ifdef REPRISE_CUDA_ON_CPU
#include <cuda_on_cpu.h>
#endif

namespace reprise::kernels::cuda {
namespace {

using testing::all_shapes;
using testing::AttentionRun;
using testing::RandomCache;

// Calls run() in different orders of blocks and threads. A device has only its own order.
template <typename Run>
void in_every_order(Run&& run) {
#ifdef REPRISE_CUDA_ON_CPU
  using cuda_on_cpu::Order;
  for (const Order order : {Order::kForward, Order::kBackward}) {
    cuda_on_cpu::set_order(order);
    run();
  }
  for (const uint64_t seed : {1, 2}) {
    SCOPED_TRACE("order of seed " + std::to_string(seed));
    cuda_on_cpu::set_order(Order::kRandom, seed);
    run();
  }
  cuda_on_cpu::set_order(Order::kForward);
#else
  run();
#endif
}

// Rows 0 to 4 share a segment; rows 1 to 3 have a segment of their own, in the other cache; row 3
// has a third one. Row 5 has a segment alone.
kv::AttentionPlan shared_plan(const std::vector<RandomCache>& caches) {
  kv::AttentionPlan plan;
  plan.begin(caches[0].view);
  plan.add_cache(caches[1].view);
  for (int row = 0; row < 6; ++row) kernels::testing::add_row(plan, 200);
  int64_t block = 0;
  const auto add_item = [&](int32_t cache, int32_t tokens, int32_t position, int32_t first_row,
                            int32_t end_row) {
    const auto index = static_cast<size_t>(cache);
    const int32_t segment = kernels::testing::add_segment(
        plan, caches[index], tokens, position, [&] { return block++ % caches[index].blocks; });
    plan.segments.back().cache = cache;
    plan.add_item({.segment = segment, .first_row = first_row, .end_row = end_row});
  };
  add_item(0, 100, 0, 0, 5);
  for (int32_t row = 1; row < 4; ++row) add_item(1, 60 + 5 * row, 100, row, row + 1);
  add_item(0, 10, 175, 3, 4);
  add_item(1, 30, 0, 5, 6);
  plan.finish();
  return plan;
}

std::vector<RandomCache> two_caches(int64_t kv_heads, DType second) {
  std::vector<RandomCache> caches;
  caches.emplace_back(DType::kBF16, 20, 1, kv_heads, 16, 64, 1);
  caches.emplace_back(second, 20, 1, kv_heads, 16, 64, 2);
  return caches;
}

// Every second tile shape is run with caches of two dtypes, so that the parts of a row belong to
// two launches. The 20 heads of a kv head are more than a tile of 16 lanes.
TEST(CudaAttentionMerge, TheLastBlockMergesTheSameBits) {
  for (const int32_t shape : all_shapes()) {
    const std::vector<RandomCache> caches =
        two_caches(1, shape % 2 == 0 ? DType::kBF16 : DType::kF16);
    const kv::AttentionPlan plan = shared_plan(caches);
    const AttentionRun run{.heads = 20, .tiles = {.shape = shape, .parts = 2}};
    const auto q = testing::queries_for(plan.rows() * run.heads * 64, 3, DType::kBF16);
    const std::vector<float> want = testing::run_attention(plan, caches, q, run);
    in_every_order([&] {
      testing::expect_same_in_last_block(plan, caches, q, run, want,
                                         text_of(kTileShapes[static_cast<size_t>(shape)]));
    });
  }
}

TEST(CudaAttentionMerge, ItIsUsedIfSomethingIsMergedAndEveryRowHasAPart) {
  const std::vector<RandomCache> caches = two_caches(1, DType::kBF16);
  const auto is_used = [](const kv::AttentionPlan& plan, const TileOverride& tiles) {
    StepSchedule schedule;
    schedule.build(plan, 1, {}, kH100, RowResults::kFinished, tiles);
    return schedule.merges_in_last_block;
  };
  const TileOverride wanted{.merges_in_last_block = true};
  EXPECT_TRUE(is_used(shared_plan(caches), wanted));
  EXPECT_FALSE(is_used(shared_plan(caches), {}));
  EXPECT_FALSE(is_used(kernels::testing::causal_plan(caches[0], 15, 1), wanted));
  kv::AttentionPlan without_part = shared_plan(caches);
  kernels::testing::add_row(without_part, 0);
  without_part.finish();
  EXPECT_FALSE(is_used(without_part, wanted));
}

// A step with more merged rows, then with fewer, then with more again: the counters may move or
// get another row's place, but are 0 at the start of each step.
TEST(CudaAttentionMerge, CountersAreReadyForTheNextStep) {
  const std::vector<RandomCache> caches = two_caches(1, DType::kBF16);
  DeviceAttention device(testing::test_runtime());
  for (const int32_t parts : {3, 1, 2}) {
    const AttentionRun run{.heads = 4,
                           .results = parts == 1 ? RowResults::kFinished : RowResults::kPartial,
                           .tiles = {.parts = parts, .merges_in_last_block = true}};
    const kv::AttentionPlan plan = shared_plan(caches);
    const testing::DevicePlan on_device(plan, caches);
    const auto q = testing::queries_for(plan.rows() * 4 * 64, 3, DType::kBF16);
    AttentionRun separate = run;
    separate.tiles.merges_in_last_block = false;
    const std::vector<float> want = testing::run_attention(plan, caches, q, separate);
    device.begin(on_device.plan(), run.heads, run.params, run.gpu, run.results, run.tiles);
    ASSERT_TRUE(device.schedule().merges_in_last_block);
    for (int layer = 0; layer < 2; ++layer)
      EXPECT_EQ(testing::run_layer(device, plan, q, run), want) << parts << " parts";
  }
}

// The launches of a layer, recorded once and run several times.
TEST(CudaAttentionMerge, RecordedLaunchesMayRunAgain) {
  const std::vector<RandomCache> caches = two_caches(1, DType::kBF16);
  const kv::AttentionPlan plan = shared_plan(caches);
  const testing::DevicePlan on_device(plan, caches);
  AttentionRun run{.heads = 4};
  const auto q = testing::queries_for(plan.rows() * 4 * 64, 3, DType::kBF16);
  const std::vector<float> want = testing::run_attention(plan, caches, q, run);
  run.tiles.merges_in_last_block = true;
  DeviceAttention device(testing::test_runtime());
  device.begin(on_device.plan(), run.heads, run.params, run.gpu, run.results, run.tiles);
  const cuda_on_cpu::DeviceArray<float> queries(q), out(q.size());
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t recorded;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  device.run(0, {.data = queries.data(), .dtype = DType::kF32, .row_stride = 4 * 64},
             {.data = out.data(), .dtype = DType::kF32}, stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&recorded, graph, 0), cudaSuccess);
  for (int time = 0; time < 3; ++time) {
    ASSERT_EQ(cudaGraphLaunch(recorded, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(out.values(), want) << "run " << time;
  }
  cudaGraphExecDestroy(recorded);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace reprise::kernels::cuda
