#include "core/device/cuda/memory_pool.h"

#include "core/device/memory.h"
#include "tests/core/device/cuda/on_cpu.h"

namespace reprise::cuda {
namespace {

constexpr size_t kMib = size_t{1} << 20;

TEST(SizeClass, HoldsWhatWasAskedForAndLosesAQuarterAtMost) {
  for (size_t bytes = 1; bytes < 8 * kMib; bytes += 1 + bytes / 7) {
    const size_t rounded = size_class(bytes);
    EXPECT_GE(rounded, bytes);
    EXPECT_EQ(rounded % 256, 0u) << bytes;
    EXPECT_EQ(size_class(rounded), rounded) << bytes;
    if (bytes >= 2 * kMib) {
      EXPECT_EQ(rounded % (2 * kMib), 0u) << bytes;
    } else if (bytes > 1024) {
      EXPECT_LE(rounded * 4, bytes * 5 + 3) << bytes;
    }
  }
  EXPECT_EQ(size_class(1), 256u);
  EXPECT_EQ(size_class(1025), 1280u);
  EXPECT_EQ(size_class(2 * kMib), 2 * kMib);
  EXPECT_EQ(size_class(2 * kMib + 1), 4 * kMib);
}

using MemoryPoolTest = OnCpu;

TEST_F(MemoryPoolTest, WhatIsGivenBackServesTheNextOfItsClass) {
  MemoryPool pool;
  void* first = pool.take(5000);
  pool.give(first, 5000);
  EXPECT_EQ(pool.take(4999), first);
  void* other = pool.take(5000);
  EXPECT_NE(other, first);
  void* larger = pool.take(6000);
  EXPECT_NE(larger, first);
  for (const auto& [data, bytes] : {std::pair{first, 4999}, {other, 5000}, {larger, 6000}})
    pool.give(data, static_cast<size_t>(bytes));
  EXPECT_EQ(pool.take(0), nullptr);
  pool.give(nullptr, 0);
}

TEST_F(MemoryPoolTest, UsedPeakAndHeldBytesAreCounted) {
  MemoryPool pool;
  void* a = pool.take(1024);
  void* b = pool.take(2048);
  EXPECT_EQ(pool.used_bytes(), 3072);
  pool.give(a, 1024);
  EXPECT_EQ(pool.used_bytes(), 2048);
  EXPECT_EQ(pool.held_bytes(), 3072);
  EXPECT_EQ(pool.peak_bytes(), 3072);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 2048);
  pool.give(b, 2048);
}

TEST_F(MemoryPoolTest, WaitingBlocksMakeRoomForAnotherClass) {
  cuda_on_cpu::machine().memory_bytes = 8 * kMib;
  MemoryPool pool;
  void* a = pool.take(6 * kMib);
  pool.give(a, 6 * kMib);
  void* b = pool.take(8 * kMib);
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(pool.held_bytes(), static_cast<int64_t>(8 * kMib));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the failed call would be the next launch's";
  pool.give(b, 8 * kMib);
}

TEST_F(MemoryPoolTest, ABudgetIsKeptAndNamed) {
  MemoryPool pool(static_cast<int64_t>(8 * kMib));
  EXPECT_EQ(pool.available_bytes(), static_cast<int64_t>(8 * kMib));
  void* a = pool.take(6 * kMib);
  EXPECT_EQ(pool.available_bytes(), static_cast<int64_t>(2 * kMib));
  const std::string text = error_of([&] { (void)pool.take(4 * kMib); });
  for (const char* part : {"has not 0.004 GiB", "0.002 GiB are available of a budget of 0.008",
                           "0.006 GiB are in use"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  void* b = pool.take(2 * kMib);
  pool.give(a, 6 * kMib);
  pool.give(b, 2 * kMib);
  void* all = pool.take(8 * kMib);  // frees the pieces that were given back
  pool.give(all, 8 * kMib);
}

TEST_F(MemoryPoolTest, AbsurdSizesAreRefused) {
  MemoryPool pool;
  EXPECT_THROW((void)pool.take(SIZE_MAX), MemoryError);
  EXPECT_THROW((void)pool.take(SIZE_MAX / 2), MemoryError);
}

}  // namespace
}  // namespace reprise::cuda
