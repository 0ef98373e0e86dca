// Embedding and greedy sampling: where tokens come in and go out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/embedding/cuda/embedding.cuh"
#include "core/kernels/rows/reference/rows.h"
#include "core/kernels/sampling/cuda/sampling.cuh"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda::GreedyTokens;
using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::random_values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(CudaEmbedding, TablesOfAnyDtypeMatchTheReferenceAndAddUp) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int64_t cols : {1, 17, 300})
      for (int32_t rows : {0, 1, 30}) {
        const std::vector<float> values = random_values(50 * cols, 1, dtype);
        std::vector<int32_t> ids;
        for (int32_t i = 0; i < rows; ++i) ids.push_back((i * i * 7 + 3) % 50);
        const std::vector<float> want = reference::embedding(values, cols, ids);
        const DeviceNumbers table(values, dtype);
        const DeviceArray<int32_t> device_ids(ids);
        const DeviceArray<float> out(want.size());
        cuda::Embedding call{.table = table.data(),
                             .dtype = dtype,
                             .entries = 50,
                             .cols = cols,
                             .ids = device_ids.data(),
                             .rows = rows,
                             .out = out.data()};
        cuda::embedding(call, nullptr);
        EXPECT_EQ(out.values(), want) << name_of(dtype) << " " << rows << " x " << cols;
        call.accumulate = true;
        cuda::embedding(call, nullptr);
        const std::vector<float> twice = out.values();
        for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(twice[i], want[i] + want[i]);
      }
}

TEST(CudaEmbedding, IdsThatAreNotInTheTableBecomeNan) {
  const DeviceArray<float> table(random_values(12, 1)), out(9);
  const DeviceArray<int32_t> ids(std::vector<int32_t>{-1, 3, 4});
  cuda::embedding({.table = table.data(),
                   .entries = 4,
                   .cols = 3,
                   .ids = ids.data(),
                   .rows = 3,
                   .out = out.data()},
                  nullptr);
  const std::vector<float> got = out.values();
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(got[i]), i / 3 != 1) << i;
}

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
