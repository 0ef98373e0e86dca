#include "core/device/cuda/cuda_device.h"

#include "core/device/buffer.h"
#include "core/device/cuda/check.h"
#include "core/device/memory.h"
#include "tests/core/device/cuda/on_cpu.h"

namespace reprise::cuda {
namespace {

using cuda_on_cpu::machine;

using CudaDeviceTest = OnCpu;

void expect_refused(const std::vector<std::string>& parts, int ordinal = 0) {
  const std::string text = error_of([&] { (void)require_cuda_device(ordinal); });
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(CudaDeviceTest, WhatAMachineLacksIsNamedWithItsRemedy) {
  machine().devices = 0;
  expect_refused({"no CUDA device", "nvidia-smi", "--device cpu"});
  machine() = {};
  machine().driver_version = 12040;
  expect_refused({"driver is too old", "knows CUDA 12.4", "needs 13.0", "Update"});
  machine().driver_version = 0;  // the runtime's value if there is no driver
  expect_refused({"no CUDA device"});
  machine() = {};
  machine().major = 7;
  machine().minor = 5;
  expect_refused({"compute capability 7.5", "8.0"});
  machine() = {};
  expect_refused({"no CUDA device 1", "has 1"}, 1);
  expect_refused({"no CUDA device -1"}, -1);
}

TEST_F(CudaDeviceTest, FactsAreTheDevices) {
  const BareDevice device;
  EXPECT_EQ(device.facts().major, 9);
  EXPECT_EQ(device.facts().memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(device.description(), "NVIDIA H100 on a CPU (9.0, 4 SMs, 1 GiB)");
  EXPECT_EQ(device.device(), Device::kCuda);
}

TEST_F(CudaDeviceTest, BuffersOfTheDeviceAreZeroAndCopiedBothWays) {
  const auto device = std::make_shared<BareDevice>();
  // Sizes of copies that need one piece of staging memory, several pieces, and more pieces than
  // there are.
  for (const size_t count : {size_t{1}, size_t{1000}, Staging::kPieceBytes / 2,
                             (Staging::kPieces + 3) * Staging::kPieceBytes / sizeof(int) + 5}) {
    Buffer buffer(device, count * sizeof(int));
    EXPECT_EQ(buffer.device(), Device::kCuda);
    EXPECT_EQ(buffer.bytes(), count * sizeof(int));
    std::vector<int> host(count, 7);
    device->copy_out(host.data(), buffer.data(), buffer.bytes());
    EXPECT_EQ(host, std::vector<int>(count, 0));
    std::vector<int> values = counted(count);
    device->copy_in(buffer.data(), values.data(), buffer.bytes());
    std::fill(values.begin(), values.end(), -1);  // the call has taken them
    device->copy_out(host.data(), buffer.data(), buffer.bytes());
    EXPECT_EQ(host, counted(count)) << count;
  }
}

TEST_F(CudaDeviceTest, ABufferThatIsMovedIsGivenBackOnce) {
  const auto device = std::make_shared<BareDevice>();
  Buffer a(device, 1000);
  const void* data = a.data();
  Buffer b(std::move(a));
  EXPECT_TRUE(a.empty());  // NOLINT: what a move leaves is part of the promise
  EXPECT_EQ(b.data(), data);
  Buffer c(device, 10);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(device->memory().used_bytes(), static_cast<int64_t>(size_class(1000)));
  c = Buffer();
  EXPECT_EQ(device->memory().used_bytes(), 0);
}

TEST_F(CudaDeviceTest, ABufferOutlivesWhoeverOpenedItsDevice) {
  Buffer buffer;
  {
    const auto device = std::make_shared<BareDevice>();
    buffer = Buffer(device, 100);
  }
  EXPECT_EQ(buffer.bytes(), 100u);
}

TEST_F(CudaDeviceTest, WhatDoesNotFitIsNamedWithNeedAndHave) {
  machine().memory_bytes = size_t{1} << 20;
  const auto device = std::make_shared<BareDevice>();
  try {
    const Buffer buffer(device, size_t{3} << 30);
    FAIL() << "no error";
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("has not 3.000 GiB more"), std::string::npos) << text;
    EXPECT_NE(text.find("0.001 GiB are available"), std::string::npos) << text;
    EXPECT_EQ(error.need_bytes(), 3.0 * 0x1p30);
  }
}

// A run of many points skips a point that ends with a MemoryError.
TEST_F(CudaDeviceTest, MemoryThatAnyCallLacksIsAMemoryError) {
  EXPECT_THROW(check_cuda(cudaErrorMemoryAllocation, "cudaGraphInstantiate"), MemoryError);
  try {
    check_cuda(cudaErrorInvalidValue, "cudaGraphInstantiate");
    FAIL() << "no error";
  } catch (const MemoryError&) {
    FAIL() << "another error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cudaGraphInstantiate failed"), std::string::npos);
  }
}

// Side copies run beside the device's work, which waits for them only in await_side_copies().
TEST_F(CudaDeviceTest, SideCopiesAreThereForWorkThatAwaitsThem) {
  const auto device = std::make_shared<BareDevice>();
  for (const bool is_locked : {false, true}) {
    std::vector<int> values = counted(5000, 1), host(5000, -1);
    HostLock lock;
    if (is_locked) {
      lock = HostLock(device, values.data(), 5000 * sizeof(int));
      EXPECT_TRUE(lock.holds());
    }
    Buffer buffer(device, 5000 * sizeof(int));
    device->begin_side_copies();
    // Copies in parts, as layers arrive.
    device->copy_in_beside(buffer.data(), values.data(), 3000 * sizeof(int));
    device->copy_in_beside(buffer.as<int>() + 3000, values.data() + 3000, 2000 * sizeof(int));
    device->copy_out(host.data(), buffer.data(), buffer.bytes());
    for (size_t i = 0; i < host.size(); ++i)  // nobody has waited for the side copies
      EXPECT_TRUE(host[i] == 0 || host[i] == values[i]) << host[i] << " at " << i;
    device->await_side_copies();
    device->copy_out(host.data(), buffer.data(), buffer.bytes());
    EXPECT_EQ(host, counted(5000, 1));
  }
}

// Side copies come after the zeros that fill new memory, and after the work that used the memory
// last.
TEST_F(CudaDeviceTest, SideCopiesBeginBehindTheWorkBefore) {
  const auto device = std::make_shared<BareDevice>();
  std::vector<int> values = counted(1000, 1), host(1000);
  for (int again = 0; again < 2; ++again) {
    Buffer buffer(device, 1000 * sizeof(int));
    device->begin_side_copies();
    device->copy_in_beside(buffer.data(), values.data(), buffer.bytes());
    device->await_side_copies();
    device->copy_out(host.data(), buffer.data(), buffer.bytes());
    EXPECT_EQ(host, values);
  }
}

TEST_F(CudaDeviceTest, MemoryThatCannotBeLockedIsCopiedAllTheSame) {
  machine().refuses_page_locks = true;
  const auto device = std::make_shared<BareDevice>();
  std::vector<int> values = counted(100), host(100);
  const HostLock lock(device, values.data(), 100 * sizeof(int));
  EXPECT_FALSE(lock.holds());
  Buffer buffer(device, 100 * sizeof(int));
  device->begin_side_copies();
  device->copy_in_beside(buffer.data(), values.data(), buffer.bytes());
  std::fill(values.begin(), values.end(), -1);  // the call has taken them
  device->await_side_copies();
  device->copy_out(host.data(), buffer.data(), buffer.bytes());
  EXPECT_EQ(host, counted(100));
}

TEST_F(CudaDeviceTest, APageIsLockedOnce) {
  const auto device = std::make_shared<BareDevice>();
  const std::vector<int> values(100);
  const HostLock first(device, values.data(), 100 * sizeof(int));
  EXPECT_FALSE(HostLock(device, values.data() + 50, 10 * sizeof(int)).holds());
  EXPECT_TRUE(first.holds());
}

using CudaDeviceDeathTest = OnCpu;
TEST_F(CudaDeviceDeathTest, RecordedWorkMayNeitherAllocateNorCopy) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  BareDevice device;
  const auto twice = [&](const std::function<void()>& work) {
    device.run_repeatedly({1}, work);
    device.run_repeatedly({1}, work);
  };
  EXPECT_DEATH(twice([&] { device.release(device.allocate(8), 8); }), "allocates memory");
}

}  // namespace
}  // namespace reprise::cuda
