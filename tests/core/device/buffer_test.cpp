#include "core/device/buffer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/device/memory.h"
#include "core/device/tensor.h"

namespace reprise {
namespace {

bool is_aligned(const void* data, size_t unit) {
  return reinterpret_cast<uintptr_t>(data) % unit == 0;
}

TEST(AlignedBuffer, IsAlignedZeroAndWritableToItsEnd) {
  constexpr size_t kHuge = AlignedBuffer::kHugePageBytes;
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}, kHuge - 1,
                       kHuge, kHuge + 1, 3 * kHuge}) {
    AlignedBuffer buffer(bytes);
    ASSERT_EQ(buffer.bytes(), bytes);
    EXPECT_TRUE(is_aligned(buffer.data(), bytes >= kHuge ? kHuge : AlignedBuffer::kAlignment));
    const auto span = buffer.span<char>();
    EXPECT_EQ(span.size(), bytes);
    EXPECT_TRUE(std::all_of(span.begin(), span.end(), [](char c) { return c == 0; })) << bytes;
    std::fill(span.begin(), span.end(), 'x');
  }
}

TEST(AlignedBuffer, EmptyOnesHoldNothing) {
  const int64_t before = AlignedBuffer::live_bytes();
  AlignedBuffer none, zero(0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(zero.empty());
  EXPECT_EQ(zero.data(), nullptr);
  EXPECT_EQ(AlignedBuffer::live_bytes(), before);
}

TEST(AlignedBuffer, LiveAndPeakBytesAreCounted) {
  const int64_t before = AlignedBuffer::live_bytes();
  AlignedBuffer::reset_peak();
  {
    AlignedBuffer a(1000);
    AlignedBuffer b(AlignedBuffer::kHugePageBytes + 7);
    EXPECT_EQ(AlignedBuffer::live_bytes(),
              before + 1007 + static_cast<int64_t>(AlignedBuffer::kHugePageBytes));
  }
  EXPECT_EQ(AlignedBuffer::live_bytes(), before);
  EXPECT_EQ(AlignedBuffer::peak_bytes(),
            before + 1007 + static_cast<int64_t>(AlignedBuffer::kHugePageBytes));
  AlignedBuffer::reset_peak();
  EXPECT_EQ(AlignedBuffer::peak_bytes(), before);
}

TEST(AlignedBuffer, MovingKeepsTheMemoryAndCountsItOnce) {
  const int64_t before = AlignedBuffer::live_bytes();
  AlignedBuffer a(100);
  const void* data = a.data();
  AlignedBuffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_TRUE(a.empty());  // NOLINT: the state of a moved-from object is part of the promise
  AlignedBuffer c(200);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(AlignedBuffer::live_bytes(), before + 100);
  AlignedBuffer& same = c;
  c = std::move(same);
  EXPECT_EQ(c.data(), data);
  c = AlignedBuffer();
  EXPECT_EQ(AlignedBuffer::live_bytes(), before);
}

TEST(AlignedBuffer, AbsurdSizesAreRefusedReadably) {
  const int64_t before = AlignedBuffer::live_bytes();
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, size_t{1} << 62, size_t{1} << 46}) {
    try {
      AlignedBuffer buffer(bytes);
      FAIL() << bytes << " bytes were granted";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("cannot allocate"), std::string::npos) << text;
      EXPECT_NE(text.find("GiB are available"), std::string::npos) << text;
    }
  }
  EXPECT_EQ(AlignedBuffer::live_bytes(), before);
}

// Left out under AddressSanitizer, whose own mappings need room beside the buffer.
#ifndef __SANITIZE_ADDRESS__
TEST(AlignedBuffer, TheLimitThatRefusesIsNamed) {
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
  rlimit limited = usual;
  limited.rlim_cur = static_cast<rlim_t>(resident_bytes()) + (rlim_t{1} << 30);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  std::string text;
  try {
    errno = ENOENT;  // left by an earlier call
    AlignedBuffer buffer(size_t{2} << 30);
  } catch (const Error& error) {
    text = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &usual), 0);
  EXPECT_NE(text.find("GiB that ulimit -v allows"), std::string::npos) << text;
  EXPECT_NE(text.find("(Cannot allocate memory)"), std::string::npos) << text;
}
#endif

TEST(Memory, FactsArePlausible) {
  AlignedBuffer buffer(size_t{8} << 20);
  std::fill_n(buffer.as<char>(), buffer.bytes(), char{1});
  EXPECT_GE(resident_bytes(), int64_t{8} << 20);
  // The two numbers are read from one file at different moments, and the kernel counts pages per
  // thread in batches.
  EXPECT_GE(peak_resident_bytes() + (int64_t{4} << 20), resident_bytes());
  EXPECT_GT(available_bytes(), 0);
}

TEST(Tensor, KnowsItsShapeAndRefusesAnotherType) {
  Tensor tensor(DType::kBF16, {2, 3, 5});
  EXPECT_EQ(tensor.elements(), 30);
  EXPECT_EQ(tensor.view().bytes(), 60u);
  EXPECT_EQ(tensor.shape().to_string(), "[2, 3, 5]");
  EXPECT_EQ(Tensor().elements(), 0);
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH((void)tensor.as<float>(), "tensor holds bf16");
}

// A device runtime whose memory is the host's.
class HostRuntime final : public DeviceRuntime {
 public:
  [[nodiscard]] Device device() const override { return Device::kCuda; }
  [[nodiscard]] std::string description() const override { return "a device of host memory"; }
  [[nodiscard]] DeviceHandle handle() const override { return {}; }
  void call_library(const std::function<void()>& work) override { work(); }
  [[nodiscard]] void* allocate(size_t bytes) override {
    if (bytes > 1000) raise("the device has not {} bytes", bytes);
    used += bytes;
    return std::calloc(bytes, 1);
  }
  void release(void* data, size_t bytes) noexcept override {
    used -= bytes;
    std::free(data);
  }
  [[nodiscard]] int64_t available_bytes() const override { return 1000; }
  void copy_in(void* to, const void* host, size_t bytes) override { std::memcpy(to, host, bytes); }
  void copy_out(void* host, const void* from, size_t bytes) override {
    std::memcpy(host, from, bytes);
  }
  void copy_within(void* to, size_t to_step, const void* from, size_t from_step, size_t row_bytes,
                   size_t rows) override {
    for (size_t row = 0; row < rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_step,
                  static_cast<const char*>(from) + row * from_step, row_bytes);
  }
  void synchronize() override {}
  void begin_side_copies() override {}
  void copy_in_beside(void* to, const void* host, size_t bytes) override {
    std::memcpy(to, host, bytes);
  }
  void await_side_copies() override {}
  [[nodiscard]] bool lock_host(const void*, size_t) override { return ++locks > 0; }
  void unlock_host(const void*) noexcept override { --locks; }
  void run_repeatedly(const WorkKey&, const std::function<void()>& work) override { work(); }
  [[nodiscard]] DeviceOperations& operations() override { raise("it has no operations"); }

  size_t used = 0;
  int locks = 0;
};

TEST(HostLock, IsGivenBackOnceWhereverItWasMovedTo) {
  const auto runtime = std::make_shared<HostRuntime>();
  const char bytes[8] = {};
  {
    HostLock a(runtime, bytes, 8);
    EXPECT_TRUE(a.holds());
    HostLock b(std::move(a));
    HostLock c;
    c = std::move(b);
    EXPECT_TRUE(c.holds());
    EXPECT_EQ(runtime->locks, 1);
    EXPECT_FALSE(HostLock(runtime, bytes, 0).holds());
    EXPECT_FALSE(HostLock(nullptr, bytes, 8).holds());
  }
  EXPECT_EQ(runtime->locks, 0);
}

TEST(Buffer, BelongsToTheCpuWithoutARuntime) {
  Buffer host(nullptr, 100);
  EXPECT_EQ(host.device(), Device::kCpu);
  EXPECT_EQ(host.bytes(), 100u);
  host.as<char>()[99] = 1;
  Buffer moved = std::move(host);
  EXPECT_EQ(moved.as<char>()[99], 1);
}

TEST(Buffer, IsWrittenFromTheHostWhereverItIs) {
  const auto device = std::make_shared<HostRuntime>();
  for (const std::shared_ptr<DeviceRuntime>& runtime :
       {std::shared_ptr<DeviceRuntime>(), std::shared_ptr<DeviceRuntime>(device)}) {
    Buffer buffer(runtime, 4);
    buffer.write(1, "ab", 2);
    buffer.write(4, nullptr, 0);
    EXPECT_EQ(std::memcmp(buffer.data(), "\0ab\0", 4), 0);
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(buffer.write(3, "ab", 2), "2 bytes from 3 on of 4");
  }
}

TEST(Buffer, BelongsToTheRuntimeThatItIsMadeOfAndIsGivenBackOnce) {
  const auto runtime = std::make_shared<HostRuntime>();
  Buffer a(runtime, 100);
  EXPECT_EQ(a.device(), Device::kCuda);
  EXPECT_EQ(runtime->used, 100u);
  const void* data = a.data();
  Buffer b(std::move(a));
  EXPECT_TRUE(a.empty());  // NOLINT: the state of a moved-from object is part of the promise
  EXPECT_EQ(b.data(), data);
  Buffer c(runtime, 50);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(runtime->used, 100u);
  c = Buffer(nullptr, 10);
  EXPECT_EQ(c.device(), Device::kCpu);
  EXPECT_EQ(runtime->used, 0u);
  EXPECT_THROW(Buffer(runtime, 1001), Error);
}

TEST(Tensor, IsCopiedToADevice) {
  const auto runtime = std::make_shared<HostRuntime>();
  Tensor host(DType::kF32, {2, 3});
  for (int i = 0; i < 6; ++i) host.as<float>()[i] = static_cast<float>(i);
  const Tensor copy = host.copy_to(runtime);
  EXPECT_EQ(copy.device(), Device::kCuda);
  EXPECT_EQ(copy.view().device, Device::kCuda);
  EXPECT_EQ(copy.shape(), host.shape());
  EXPECT_EQ(std::memcmp(copy.data(), host.data(), host.bytes()), 0);
  EXPECT_TRUE(Tensor().copy_to(runtime).empty());
}

}  // namespace
}  // namespace reprise
