// Tests segments that arrive on a device layer by layer.
#include "core/store/device_segment.h"

#include "core/device/memory.h"
#include "core/kv/block_pool.h"
#include "core/store/token_states.h"
#include "tests/core/device/cuda/on_cpu.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

using CudaDeviceSegment = cuda::OnCpu;

constexpr SegmentShape kShape = {
    .layers = 4, .kv_heads = 2, .tokens = 7, .head_dim = 16, .dtype = DType::kF16};

std::shared_ptr<const SegmentHandle> handle_of(SegmentStore& store, const SegmentKey& key) {
  return std::make_shared<const SegmentHandle>(*store.acquire(key));
}

// True if work that is enqueued after this call finds the contents of `expected` in the first
// `layers` layers of the segment on the device.
bool is_there(const DeviceSegment& segment, const SegmentBuffer& expected, int64_t layers) {
  const SegmentBuffer host = segment.to_host();
  for (int64_t layer = 0; layer < layers; ++layer)
    if (!equals_in_layer(host.view(), expected, layer)) return false;
  return true;
}

TEST_F(CudaDeviceSegment, LayersArriveAsTheyAreBegun) {
  const auto device = std::make_shared<cuda::BareDevice>();
  const model::TempDir folder;
  for (const bool is_file : {false, true}) {
    SegmentStore store(is_file ? SegmentStoreOptions{.directory = folder.path()}
                               : SegmentStoreOptions{.host_bytes = 1 << 20, .runtime = device});
    store.put("a", segment_of(5, kShape));
    const SegmentBuffer expected = segment_of(5, kShape);
    DeviceSegment segment(device, handle_of(store, "a"));
    EXPECT_EQ(segment.view().device, Device::kCuda);
    EXPECT_EQ(segment.view().layer_stride, 2 * 7 * 16);
    EXPECT_FALSE(segment.is_whole());
    segment.begin_layers(1);
    EXPECT_FALSE(is_there(segment, expected, 1)) << "nobody has waited";
    segment.await_copies();
    EXPECT_TRUE(is_there(segment, expected, 2));
    EXPECT_FALSE(is_there(segment, expected, 3)) << "its copy has not begun";
    segment.begin_layers(0);  // the copy of layer 0 has begun already
    segment.begin_layers(3);
    EXPECT_FALSE(segment.is_whole());
    segment.await_copies();
    EXPECT_TRUE(segment.is_whole());
    EXPECT_TRUE(is_there(segment, expected, 4));
  }
}

// The host may give up a segment once it is on the device, but not while it is being copied.
TEST_F(CudaDeviceSegment, TheHostsSegmentIsHeldUntilAllOfItIsCopied) {
  const auto device = std::make_shared<cuda::BareDevice>();
  SegmentStore store({.host_bytes = kShape.bytes(), .runtime = device});
  store.put("a", segment_of(1, kShape));
  DeviceSegment segment(device, handle_of(store, "a"));
  segment.begin_layers(2);
  segment.drop_source();
  EXPECT_THROW(store.put("b", segment_of(2, kShape)), Error) << "its place is taken";
  segment.begin_layers(3);
  segment.await_copies();
  segment.drop_source();
  store.put("b", segment_of(2, kShape));
  EXPECT_TRUE(is_there(segment, segment_of(1, kShape), 4));
}

// Copies for which nobody has waited must not outlive the memory on either side.
TEST_F(CudaDeviceSegment, MayEndAtAnyTime) {
  const auto device = std::make_shared<cuda::BareDevice>();
  for (const int64_t begun : {-1, 0, 3}) {
    auto store = std::make_unique<SegmentStore>(
        SegmentStoreOptions{.host_bytes = 1 << 20, .runtime = device});
    store->put("a", segment_of(1, kShape));
    auto segment = std::make_unique<DeviceSegment>(device, handle_of(*store, "a"));
    segment->begin_layers(begun);
    store.reset();
    segment.reset();
    Buffer next(device, kShape.half_bytes());
    std::vector<char> host(next.bytes(), 1);
    device->copy_out(host.data(), next.data(), next.bytes());
    EXPECT_EQ(host, std::vector<char>(next.bytes(), 0)) << begun;
  }
}

TEST_F(CudaDeviceSegment, WhatStepsWroteIsCopiedToTheHost) {
  const auto device = std::make_shared<cuda::BareDevice>();
  const DeviceSegment segment(device, kShape);
  EXPECT_TRUE(segment.is_whole());
  const SegmentBuffer states = segment_of(3, kShape);
  device->copy_in(segment.view().keys, states.keys.data(), kShape.half_bytes());
  device->copy_in(segment.view().values, states.values.data(), kShape.half_bytes());
  EXPECT_TRUE(is_there(segment, states, 4));
}

TEST_F(CudaDeviceSegment, WhatDoesNotFitOnTheDeviceIsAnError) {
  cuda_on_cpu::machine().memory_bytes = size_t{1} << 20;
  const auto device = std::make_shared<cuda::BareDevice>();
  SegmentShape shape = kShape;
  shape.tokens = 1 << 16;
  EXPECT_THROW(DeviceSegment(device, shape), MemoryError);
}

// The states of a preempted sequence leave and return to other blocks.
TEST_F(CudaDeviceSegment, TokensOfACacheGoOutAndComeBack) {
  const auto device = std::make_shared<cuda::BareDevice>();
  const BlockPoolOptions options{.layers = 3,
                                 .kv_heads = 2,
                                 .head_dim = 8,
                                 .dtype = DType::kF16,
                                 .block_tokens = 4,
                                 .num_blocks = 6,
                                 .runtime = device};
  const BlockPool pool(options);
  const Context context{.device = Device::kCuda, .runtime = device};
  const SegmentBuffer states = segment_of(
      9, {.layers = 3, .kv_heads = 2, .tokens = 10, .head_dim = 8, .dtype = DType::kF16});
  // Tokens 20 to 29 of a sequence: a part of a block, a block, a part of a block.
  const std::vector<TokenRun> runs = {
      {.first_token = 20, .tokens = 3, .offset = pool.offset_of(4, 1)},
      {.first_token = 23, .tokens = 4, .offset = pool.offset_of(0)},
      {.first_token = 27, .tokens = 3, .offset = pool.offset_of(2)}};
  copy_back(states, 20, runs, pool.view(), context);
  EXPECT_TRUE(equals(copy_out(pool.view(), 3, runs, context).view(), states));
  // Other blocks are as they were.
  const TokenRun other{.first_token = 0, .tokens = 4, .offset = pool.offset_of(3)};
  const SegmentBuffer zeros(
      {.layers = 3, .kv_heads = 2, .tokens = 4, .head_dim = 8, .dtype = DType::kF16});
  EXPECT_TRUE(equals(copy_out(pool.view(), 3, {&other, 1}, context).view(), zeros));
}

}  // namespace
}  // namespace reprise::kv
