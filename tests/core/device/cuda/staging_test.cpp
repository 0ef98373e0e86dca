#include "core/device/cuda/staging.h"

#include "tests/core/device/cuda/on_cpu.h"

namespace reprise::cuda {
namespace {

using StagingTest = OnCpu;

// More small copies than there are pieces, and nobody waits in between: each piece must be read
// before it is written again.
TEST_F(StagingTest, PiecesAreNotOverwrittenBeforeTheyAreRead) {
  constexpr size_t kCopies = 3 * Staging::kPieces + 5;
  const Stream stream;
  Staging staging;
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, kCopies * sizeof(int)), cudaSuccess);
  for (size_t i = 0; i < kCopies; ++i) {
    const int value = static_cast<int>(i) * 3;
    staging.copy_in(device + i, &value, sizeof value, stream.get());
  }
  std::vector<int> host(kCopies);
  staging.copy_out(host.data(), device, kCopies * sizeof(int), stream.get());
  for (size_t i = 0; i < kCopies; ++i) ASSERT_EQ(host[i], static_cast<int>(i) * 3);
  ASSERT_EQ(cudaFree(device), cudaSuccess);
}

TEST_F(StagingTest, NothingIsCopiedOfNothing) {
  const Stream stream;
  Staging staging;
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, sizeof(int)), cudaSuccess);
  const int three = 3, five = 5;
  staging.copy_in(device, &three, sizeof three, stream.get());
  staging.copy_in(device, &five, 0, stream.get());
  int host = 7;
  staging.copy_out(&host, device, 0, stream.get());
  EXPECT_EQ(host, 7);
  staging.copy_out(&host, device, sizeof host, stream.get());
  EXPECT_EQ(host, 3);
  staging.copy_in(nullptr, nullptr, 0, stream.get());
  staging.copy_out(nullptr, nullptr, 0, stream.get());
  ASSERT_EQ(cudaFree(device), cudaSuccess);
}

}  // namespace
}  // namespace reprise::cuda
