#include "core/device/cuda/stream.h"

#include "tests/core/device/cuda/on_cpu.h"

namespace reprise::cuda {
namespace {

using StreamTest = OnCpu;

TEST_F(StreamTest, AnEventComesWhenTheStreamHasDoneWhatWasBeforeIt) {
  const Stream stream;
  Event event;
  EXPECT_TRUE(event.has_come()) << "nothing was recorded";
  event.record(stream.get());
  EXPECT_FALSE(event.has_come());
  event.wait();
  EXPECT_TRUE(event.has_come());
}

TEST_F(StreamTest, AStreamWaitsForAnother) {
  const Stream first, second;
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, sizeof(int)), cudaSuccess);
  cudaMemsetAsync(device, 1, sizeof(int), first.get());
  Event event;
  event.record(first.get());
  second.wait_for(event);
  cudaMemsetAsync(device, 2, 1, second.get());
  second.synchronize();
  int value = 0;
  cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
  EXPECT_EQ(value, 0x01010102);
  cudaFree(device);
}

TEST_F(StreamTest, TimeIsMeasuredBetweenTimedEventsAlone) {
  const Stream stream;
  Event begin(Event::Use::kTime), end(Event::Use::kTime), untimed;
  begin.record(stream.get());
  end.record(stream.get());
  untimed.record(stream.get());
  stream.synchronize();
  EXPECT_GE(end.ms_since(begin), 0.0);
  EXPECT_THROW((void)untimed.ms_since(begin), Error);
}

TEST_F(StreamTest, MovedOnesAreDestroyedOnce) {
  Stream a;
  const cudaStream_t handle = a.get();
  Stream b(std::move(a));
  EXPECT_EQ(b.get(), handle);
  Stream c;
  c = std::move(b);
  EXPECT_EQ(c.get(), handle);
  Event e, f;
  f = std::move(e);
}

}  // namespace
}  // namespace reprise::cuda
