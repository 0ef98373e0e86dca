// Greedy sampling on a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/sampling/cuda/sampling.cuh"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda::GreedyTokens;
using cuda_on_cpu::DeviceArray;
using reprise::testing::random_values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<int32_t> greedy(const std::vector<float>& logits, int32_t vocab) {
  const DeviceArray<float> device(logits);
  const DeviceArray<int32_t> tokens(logits.size() / static_cast<size_t>(vocab));
  cuda::greedy_tokens({.logits = device.data(),
                       .rows = static_cast<int64_t>(tokens.size()),
                       .vocab = vocab,
                       .tokens = tokens.data()},
                      nullptr);
  return tokens.values();
}

TEST(CudaSampling, GreedyTakesTheLargestAndTheLowestIdAmongEquals) {
  for (int32_t vocab : {1, 2, 31, 32, 33, 500, 512, 513, 1600}) {
    std::vector<float> logits = random_values(3 * vocab, 5);
    for (float& logit : logits) logit = std::round(logit * 2.0f);  // many equals
    std::vector<int32_t> want;
    for (int row = 0; row < 3; ++row) {
      const auto begin = logits.begin() + row * vocab;
      want.push_back(static_cast<int32_t>(std::max_element(begin, begin + vocab) - begin));
    }
    EXPECT_EQ(greedy(logits, vocab), want) << vocab;
  }
}

TEST(CudaSampling, InfinitiesAndNanAreSeenWhereverTheyStand) {
  constexpr size_t kVocab = 70;
  EXPECT_EQ(greedy(std::vector<float>(kVocab, -kInf), kVocab), std::vector<int32_t>{0});
  for (size_t at : {size_t{0}, size_t{31}, size_t{32}, size_t{69}}) {
    std::vector<float> logits(kVocab, -kInf);
    logits[at] = -3.0f;
    EXPECT_EQ(greedy(logits, kVocab), std::vector<int32_t>{static_cast<int32_t>(at)});
    logits.assign(kVocab, 1.0f);
    logits[at] = kInf;
    EXPECT_EQ(greedy(logits, kVocab), std::vector<int32_t>{static_cast<int32_t>(at)});
    logits[at] = kNan;
    logits[7] = kInf;
    EXPECT_EQ(greedy(logits, kVocab), std::vector<int32_t>{GreedyTokens::kNotANumber});
  }
}

}  // namespace
}  // namespace reprise::kernels
