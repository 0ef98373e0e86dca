// Tests that the device draws the same tokens as the CPU from the same random numbers.
#include "core/kernels/sampling/cuda/draw.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/engine/sampling.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using engine::SamplingOptions;
using reprise::testing::random_values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SampleRule rule_of(const SamplingOptions& options, int64_t row, int32_t index) {
  return {.temperature = options.temperature,
          .top_p = options.top_p,
          .unit = engine::draw_unit(options, /*request=*/row, index),
          .row = row,
          .top_k = options.top_k};
}

std::vector<int32_t> drawn(const std::vector<float>& logits, int64_t vocab,
                           const std::vector<SampleRule>& rules) {
  const DeviceArray<float> device_logits(logits);
  const DeviceArray<SampleRule> device_rules(rules);
  const DeviceArray<int32_t> tokens(rules.size());
  cuda::draw_tokens({.logits = device_logits.data(),
                     .vocab = static_cast<int32_t>(vocab),
                     .rules = device_rules.data(),
                     .draws = std::ssize(rules),
                     .tokens = tokens.data()},
                    nullptr);
  return tokens.values();
}

// Draws several times from each row, and expects the CPU's tokens.
void expect_as_on_the_cpu(const std::vector<float>& logits, int64_t vocab,
                          const SamplingOptions& options) {
  constexpr int32_t kDraws = 2;
  const int64_t rows = std::ssize(logits) / vocab;
  std::vector<SampleRule> rules;
  std::vector<int32_t> want;
  for (int64_t row = 0; row < rows; ++row)
    for (int32_t index = 0; index < kDraws; ++index) {
      rules.push_back(rule_of(options, row, index));
      want.push_back(engine::sample(
          std::span(logits).subspan(static_cast<size_t>(row * vocab), static_cast<size_t>(vocab)),
          options, row, index));
    }
  EXPECT_EQ(drawn(logits, vocab, rules), want)
      << "temperature " << options.temperature << ", top_k " << options.top_k << ", top_p "
      << options.top_p << ", vocabulary of " << vocab;
}

TEST(CudaDraw, TokensAreThoseOfTheCpuForAnyRule) {
  for (const int64_t vocab : {1, 16, 17, 97, 530}) {
    const std::vector<float> logits = random_values(2 * vocab, 7, DType::kF32, 2.0f);
    for (const double temperature : {0.0, 0.3, 5.0})
      for (const int32_t top_k : {0, 1, 5})
        for (const double top_p : {1.0, 0.3}) {
          if ((temperature == 0.0 || top_k == 1) && top_p < 1.0) continue;
          expect_as_on_the_cpu(logits, vocab,
                               {.temperature = temperature,
                                .top_p = top_p,
                                .top_k = top_k,
                                .seed = static_cast<uint64_t>(vocab)});
        }
  }
}

// A vocabulary larger than a batch (the tokens that the kernel sorts at once), with different
// logits, with some equal logits, and with all logits equal.
TEST(CudaDraw, TokensBehindTheFirstBatchAreFound) {
  constexpr int64_t kVocab = 5000;
  std::vector<float> logits = random_values(3 * kVocab, 8, DType::kF32, 3.0f);
  for (int64_t i = 0; i < kVocab; ++i) {
    if (i % 3 != 0) logits[static_cast<size_t>(kVocab + i)] = 0.5f;
    logits[static_cast<size_t>(2 * kVocab + i)] = 1.0f;
  }
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 0.8}, SamplingOptions{.temperature = 50.0, .top_p = 0.95},
        SamplingOptions{.temperature = 0.8, .top_p = 0.5, .top_k = 4100}})
    expect_as_on_the_cpu(logits, kVocab, options);
}

// Equal logits are ordered by their ids, and 0 equals -0. A top_k or top_p may end among equal
// logits.
TEST(CudaDraw, EqualLogitsGoByTheirIds) {
  std::vector<float> logits;
  for (int i = 0; i < 70; ++i) logits.push_back(i % 3 == 0 ? 1.0f : i % 2 == 0 ? 0.0f : -0.0f);
  for (const int32_t top_k : {0, 3, 30, 40})
    for (const double top_p : {1.0, 0.7, 0.2})
      expect_as_on_the_cpu(logits, 70, {.temperature = 1.0, .top_p = top_p, .top_k = top_k});
}

// Each of four equal tokens gets a quarter of [0, 1), which begins where the previous token's ends.
TEST(CudaDraw, AQuarterBeginsAtItsFirstNumber) {
  const std::vector<float> logits = {0.0f, -0.0f, 0.0f, -0.0f};
  EXPECT_EQ(drawn(logits, 4,
                  {{.temperature = 1.0, .unit = 0.0},
                   {.temperature = 1.0, .unit = 0.25},
                   {.temperature = 1.0, .unit = 0.5},
                   {.temperature = 1.0, .unit = 0.75}}),
            (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(CudaDraw, TokensWithoutProbabilityAreNeverDrawn) {
  std::vector<float> logits(50, -kInf);
  logits[31] = -2.0f;
  logits[7] = -2.0f;
  logits[40] = -1e30f;  // exp(-1e30) is 0
  expect_as_on_the_cpu(logits, 50, {.temperature = 1.0});
  expect_as_on_the_cpu(logits, 50, {.temperature = 1.0, .top_p = 0.5});
  expect_as_on_the_cpu(logits, 50, {.temperature = 1.0, .top_k = 10});
}

TEST(CudaDraw, InfiniteLogitsAreTaken) {
  std::vector<float> logits(20, 1.0f);
  logits[3] = logits[9] = kInf;
  expect_as_on_the_cpu(logits, 20, {.temperature = 1.0});
  expect_as_on_the_cpu(std::vector<float>(20, -kInf), 20, {.temperature = 1.0});
}

// At temperature 0, the largest logit is drawn; among equal logits, the one with the lowest id.
TEST(CudaDraw, GreedyDrawsFindTheLargestWhereverItStands) {
  constexpr int64_t kVocab = 70;
  const auto greedy = [](const std::vector<float>& logits) {
    return drawn(logits, kVocab, {{}}).front();
  };
  EXPECT_EQ(greedy(std::vector<float>(kVocab, -kInf)), 0);
  for (const int32_t at : {0, 31, 32, 69}) {
    const auto place = static_cast<size_t>(at);
    std::vector<float> logits(kVocab, -kInf);
    logits[place] = -3.0f;
    EXPECT_EQ(greedy(logits), at);
    logits.assign(kVocab, 1.0f);
    EXPECT_EQ(greedy(logits), 0);
    logits[place] = kInf;
    EXPECT_EQ(greedy(logits), at);
    logits[place] = kNan;
    logits[7] = kInf;
    EXPECT_EQ(greedy(logits), SampleCall::kNotANumber);
  }
}

TEST(CudaDraw, ANanIsFoundWhereverItStands) {
  for (const size_t at : {size_t{0}, size_t{150}, size_t{299}}) {
    std::vector<float> logits = random_values(300, 1);
    logits[at] = at == 150 ? -kNan : kNan;
    const std::vector<int32_t> tokens = drawn(logits, 300, {{}, {.temperature = 1.0, .unit = 0.5}});
    EXPECT_EQ(tokens, (std::vector<int32_t>(2, SampleCall::kNotANumber)));
  }
}

// The random number 0 draws the most probable token, and a number just below 1 the last token kept.
TEST(CudaDraw, TheEndsOfTheDrawAreTheFirstAndTheLastKept) {
  const std::vector<float> logits = {0.0f, 3.0f, 1.0f, 2.0f};
  constexpr double kAlmostOne = 1.0 - 0x1p-53;
  EXPECT_EQ(drawn(logits, 4,
                  {{.temperature = 1.0, .unit = 0.0},
                   {.temperature = 1.0, .unit = kAlmostOne},
                   {.temperature = 1.0, .unit = kAlmostOne, .top_k = 3},
                   {.temperature = 1.0, .top_p = 0.8, .unit = kAlmostOne}}),
            (std::vector<int32_t>{1, 0, 2, 3}));
}

}  // namespace
}  // namespace reprise::kernels
