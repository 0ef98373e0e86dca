#include "core/kernels/device/cuda/probe_kernels.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/base/dtype.h"
#include "tests/cuda_on_cpu/device_array.h"

namespace reprise::kernels::cuda {
namespace {

using cuda_on_cpu::DeviceArray;

std::vector<uint32_t> random_words(int64_t count) {
  std::mt19937_64 random(1);
  std::vector<uint32_t> words(static_cast<size_t>(count));
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  return words;
}

// Every word is read exactly once: a word that is not read is missing in the sum, and one that is
// read twice is in it twice. A measured rate would be wrong otherwise.
TEST(ProbeKernels, EveryWordIsReadOnce) {
  for (const unsigned blocks : {1u, 3u})
    for (const int64_t words : {0, 1, 255, 256, 257, 1024, 4 * 768 - 1, 4 * 768, 5000}) {
      const std::vector<uint32_t> host = random_words(4 * words);
      const DeviceArray<uint32_t> data(host);
      const DeviceArray<uint32_t> sums(size_t{blocks} * ReadWords::kThreads);
      read_words({.data = data.data(), .words = words, .blocks = blocks, .sums = sums.data()},
                 nullptr);
      uint32_t want = 0;
      for (size_t i = 0; i < host.size(); i += 4)
        want += host[i] ^ host[i + 1] ^ host[i + 2] ^ host[i + 3];
      const std::vector<uint32_t> got = sums.values();
      EXPECT_EQ(std::accumulate(got.begin(), got.end(), uint32_t{0}), want)
          << words << " words, " << blocks << " blocks";
    }
}

TEST(ProbeKernels, RandomNumbersHaveEitherSignAndManyFractions) {
  for (const int64_t count : {1, 256, 1000}) {
    const cuda_on_cpu::DeviceNumbers numbers(static_cast<size_t>(2 * count), DType::kBF16);
    fill_random(static_cast<uint32_t*>(numbers.data()), count, nullptr);
    const std::vector<float> values = numbers.values();
    int negative = 0;
    for (const float value : values) {
      ASSERT_GE(std::fabs(value), 0.5f) << "of " << count;
      ASSERT_LT(std::fabs(value), 1.0f) << "of " << count;
      negative += value < 0 ? 1 : 0;
    }
    if (count < 1000) continue;
    EXPECT_NEAR(negative, count, 0.1 * static_cast<double>(count));
    EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), 200u);  // of 256 there are
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda
