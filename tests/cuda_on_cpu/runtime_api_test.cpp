// Tests the runtime API that stands for CUDA's: what it does, and which faults it reports.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/fault.h"
#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/machine.h"

namespace cuda_on_cpu {
namespace {

// The kind of the fault that the call throws, or "nothing".
template <typename Call>
std::string reported(Call&& call) {
  try {
    call();
  } catch (const Fault& fault) {
    return name_of(fault.kind());
  }
  return "nothing";
}

class RuntimeApi : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = alive();
    ASSERT_EQ(cudaMalloc(&device_, 16 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&locked_, 16 * sizeof(int), cudaHostAllocDefault), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(locked_), cudaSuccess);
    EXPECT_EQ(cudaFree(device_), cudaSuccess);
    EXPECT_EQ(alive(), before_) << "something is left";
    machine() = {};
  }
  int* locked() { return static_cast<int*>(locked_); }
  int first_on_device() {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, device_, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

  Alive before_;
  int* device_ = nullptr;
  void* locked_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(RuntimeApi, MemoryIsLockedOnceAndCopiedFromWhileItIs) {
  std::vector<int> values(16, 3);
  ASSERT_EQ(cudaHostRegister(values.data(), 64, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(values.data() + 4, 8, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  cudaMemcpyAsync(device_, values.data(), sizeof(int), cudaMemcpyHostToDevice, stream_);
  values[0] = 4;
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(first_on_device(), 4);
  cudaMemcpyAsync(device_, values.data(), sizeof(int), cudaMemcpyHostToDevice, stream_);
  ASSERT_EQ(cudaHostUnregister(values.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(values.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_NE(reported([&] { cudaStreamSynchronize(stream_); }), "nothing");
}

// One stream copies out, and another stream copies in over the bytes that the first reads. Without
// an event between them, the copies may run in any order.
TEST_F(RuntimeApi, InRandomOrderStreamsRunAtAnyTime) {
  cudaStream_t beside = nullptr;
  cudaEvent_t read = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&read, cudaEventDisableTiming), cudaSuccess);
  const auto values_read = [&](bool has_event, uint64_t seed) {
    set_order(Order::kForward);
    locked()[0] = 1;
    cudaMemcpy(device_, locked_, sizeof(int), cudaMemcpyHostToDevice);
    set_order(Order::kRandom, seed);
    locked()[1] = 2;
    cudaMemcpyAsync(locked() + 2, device_, sizeof(int), cudaMemcpyDeviceToHost, stream_);
    if (has_event) {
      cudaEventRecord(read, stream_);
      cudaStreamWaitEvent(beside, read, 0);
    }
    cudaMemcpyAsync(device_, locked() + 1, sizeof(int), cudaMemcpyHostToDevice, beside);
    cudaStreamSynchronize(stream_);
    cudaStreamSynchronize(beside);
    return locked()[2];
  };
  std::set<int> without, with;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    without.insert(values_read(false, seed));
    with.insert(values_read(true, seed));
  }
  EXPECT_EQ(without, (std::set<int>{1, 2}));
  EXPECT_EQ(with, (std::set<int>{1}));
  set_order(Order::kForward);
  EXPECT_EQ(cudaEventDestroy(read), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(beside), cudaSuccess);
}

TEST_F(RuntimeApi, RowsAreCopiedApart) {
  std::vector<int> values(16);
  for (int i = 0; i < 16; ++i) values[static_cast<size_t>(i)] = i;
  cudaMemcpy(device_, values.data(), 64, cudaMemcpyHostToDevice);
  // Copies two rows of two numbers, from rows of four to rows of three.
  cudaMemcpy2DAsync(device_ + 10, 12, device_ + 1, 16, 8, 2, cudaMemcpyDeviceToDevice, stream_);
  cudaStreamSynchronize(stream_);
  cudaMemcpy(values.data(), device_, 64, cudaMemcpyDeviceToHost);
  EXPECT_EQ(std::vector<int>(values.begin() + 9, values.end()),
            (std::vector<int>{9, 1, 2, 12, 5, 6, 15}));
  EXPECT_EQ(cudaMemcpy2DAsync(device_, 4, device_ + 8, 16, 8, 2, cudaMemcpyDeviceToDevice, stream_),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeApi, CopiesFromPageLockedMemoryReadItWhenTheStreamComesToThem) {
  *locked() = 1;
  cudaMemcpyAsync(device_, locked_, sizeof(int), cudaMemcpyHostToDevice, stream_);
  *locked() = 2;
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(first_on_device(), 2);
}

TEST_F(RuntimeApi, CopiesFromPageableMemoryTakeItAlong) {
  int value = 1;
  cudaMemcpyAsync(device_, &value, sizeof(int), cudaMemcpyHostToDevice, stream_);
  value = 2;
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(first_on_device(), 1);
}

TEST_F(RuntimeApi, NothingHappensBeforeSomebodyWaits) {
  cudaMemset(device_, 0, sizeof(int));
  cudaMemsetAsync(device_, 1, sizeof(int), stream_);
  EXPECT_EQ(first_on_device(), 0);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDefault);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
  cudaEventRecord(event, stream_);
  cudaMemsetAsync(device_, 2, sizeof(int), stream_);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  cudaEventSynchronize(event);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(first_on_device(), 0x01010101);  // work after the event has not run
  cudaEventDestroy(event);
}

TEST_F(RuntimeApi, OneStreamWaitsForAnEventOfAnother) {
  cudaStream_t other = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaMemsetAsync(device_, 1, sizeof(int), other);
  cudaEventRecord(event, other);
  cudaStreamWaitEvent(stream_, event, 0);
  cudaMemsetAsync(device_, 2, 2, stream_);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(first_on_device(), 0x01010202);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
}

TEST_F(RuntimeApi, GraphsDoAgainWhatWasCaptured) {
  cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(device_, locked_, sizeof(int), cudaMemcpyHostToDevice, stream_);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_, &graph);
  cudaGraphExec_t ready = nullptr;
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  cudaMemset(device_, 0, sizeof(int));
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(first_on_device(), 0) << "a capture runs nothing";
  for (const int value : {5, 6}) {
    *locked() = value;
    cudaGraphLaunch(ready, stream_);
    cudaStreamSynchronize(stream_);
    EXPECT_EQ(first_on_device(), value);
  }
  cudaGraphExecDestroy(ready);
}

TEST_F(RuntimeApi, EndsOfCopiesThatAreNotWhereTheirKindSaysAreReported) {
  int host[32] = {};
  const auto copy = [&](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return reported([&] { cudaMemcpyAsync(to, from, bytes, kind, stream_); });
  };
  EXPECT_EQ(copy(device_, host, 64, cudaMemcpyHostToDevice), "nothing");
  EXPECT_EQ(copy(device_, host, 65, cudaMemcpyHostToDevice), "out of bounds");
  EXPECT_EQ(copy(device_ + 16, host, 4, cudaMemcpyHostToDevice), "out of bounds");
  EXPECT_EQ(copy(host, host + 16, 4, cudaMemcpyHostToDevice), "out of bounds");
  EXPECT_EQ(copy(device_, device_ + 1, 4, cudaMemcpyHostToDevice), "out of bounds");
  EXPECT_EQ(copy(host, device_, 65, cudaMemcpyDeviceToHost), "out of bounds");
  EXPECT_EQ(copy(device_ + 1, device_, 4, cudaMemcpyDeviceToHost), "out of bounds");
  EXPECT_EQ(copy(device_ + 1, device_, 4, cudaMemcpyDeviceToDevice), "nothing");
  EXPECT_EQ(reported([&] { cudaMemsetAsync(device_, 0, 65, stream_); }), "out of bounds");
}

TEST_F(RuntimeApi, FreedMemoryIsReportedUntilItIsForgotten) {
  int* freed = nullptr;
  cudaMalloc(&freed, 4);
  EXPECT_EQ(cudaFree(freed), cudaSuccess);
  EXPECT_EQ(cudaFree(freed), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(reported([&] { cudaMemset(freed, 0, 4); }), "freed memory");
  // Memory freed in the order of a stream can be used by work that the stream was given before.
  int* later = nullptr;
  cudaMallocAsync(&later, 4, stream_);
  cudaMemsetAsync(later, 0, 4, stream_);
  cudaFreeAsync(later, stream_);
  EXPECT_EQ(reported([&] { cudaStreamSynchronize(stream_); }), "nothing");
  EXPECT_EQ(reported([&] { cudaMemset(later, 0, 4); }), "freed memory");
}

TEST_F(RuntimeApi, HandlesThatAreDestroyedAreReported) {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamDestroy(stream);
  EXPECT_EQ(reported([&] { cudaStreamSynchronize(stream); }), "call of the runtime API");
  EXPECT_EQ(reported([&] { cudaMemsetAsync(device_, 0, 4, stream); }), "call of the runtime API");
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDefault);
  cudaEventDestroy(event);
  EXPECT_EQ(reported([&] { cudaEventSynchronize(event); }), "call of the runtime API");
}

TEST_F(RuntimeApi, CallsThatNoCaptureAllowsAreReported) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDefault);
  cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  int* data = nullptr;
  EXPECT_EQ(reported([&] { cudaMalloc(&data, 4); }), "call of the runtime API");
  EXPECT_EQ(reported([&] { cudaFree(device_); }), "call of the runtime API");
  EXPECT_EQ(reported([&] { cudaStreamSynchronize(stream_); }), "call of the runtime API");
  EXPECT_EQ(reported([&] { cudaEventRecord(event, stream_); }), "call of the runtime API");
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_, &graph);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
}

TEST_F(RuntimeApi, MemoryEndsWhereTheMachineSaysSo) {
  machine().memory_bytes = 1 << 20;
  size_t free_bytes = 0, all_bytes = 0;
  cudaMemGetInfo(&free_bytes, &all_bytes);
  EXPECT_EQ(all_bytes, size_t{1} << 20);
  int* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, free_bytes + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&data, free_bytes), cudaSuccess);
  cudaFree(data);
}

using RuntimeApiDeathTest = RuntimeApi;
TEST_F(RuntimeApiDeathTest, HostCodeThatTouchesTheDevicesMemoryEnds) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH({ *static_cast<volatile int*>(device_) = 1; }, "host code touches the memory");
}

}  // namespace
}  // namespace cuda_on_cpu
