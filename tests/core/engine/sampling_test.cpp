#include "core/engine/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Counts how often each token is drawn for requests 0 .. draws - 1.
std::vector<int> counts_of(const std::vector<float>& logits, const SamplingOptions& options,
                           int draws) {
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i) ++counts[static_cast<size_t>(sample(logits, options, i, 0))];
  return counts;
}

// Expects binomial counts within five standard deviations.
void expect_shares(const std::vector<int>& counts, const std::vector<double>& shares, int draws) {
  for (size_t i = 0; i < shares.size(); ++i)
    EXPECT_NEAR(counts[i], shares[i] * draws, 5 * std::sqrt(shares[i] * (1 - shares[i]) * draws))
        << "token " << i;
}

const std::vector<float> kLogits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

TEST(Sampling, ANamedStreamDrawsAlikeForEveryRequest) {
  for (int index = 0; index < 20; ++index) {
    const SamplingOptions third{.temperature = 1, .seed = 5, .stream = 3};
    const int32_t wanted = sample(kLogits, {.temperature = 1, .seed = 5}, 3, index);
    for (RequestId request = 0; request < 10; ++request)
      EXPECT_EQ(sample(kLogits, third, request, index), wanted);
  }
}

TEST(Sampling, NanNamesItsRequest) {
  try {
    (void)sample(std::vector<float>{1, std::nanf(""), 2}, {}, 42, 0);
    FAIL() << "no error";
  } catch (const BadLogits& error) {
    EXPECT_EQ(error.request(), 42);
  }
}

TEST(Sampling, GreedyTakesTheLargestAndTheLowestIdAmongEquals) {
  EXPECT_EQ(sample(std::vector<float>{1, 3, 2}, {}, 0, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{1, 3, 3, 3}, {}, 0, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{0, 0, 0}, {}, 9, 9), 0);
  EXPECT_EQ(sample(std::vector<float>{-kInf, -5, -kInf}, {}, 0, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{-kInf, -kInf}, {}, 0, 0), 0);
  EXPECT_EQ(sample(std::vector<float>{1, kInf, kInf}, {}, 0, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{-0.0f, 0.0f}, {}, 0, 0), 0);
}

TEST(Sampling, TopKOfOneIsGreedyAtAnyTemperature) {
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(sample(kLogits, {.temperature = 5.0, .top_k = 1, .seed = 3}, i, 0), 1);
}

TEST(Sampling, DrawsFollowTheSoftmax) {
  constexpr int kDraws = 20000;
  expect_shares(counts_of(kLogits, {.temperature = 1.0, .seed = 1}, kDraws), {0.1, 0.4, 0.2, 0.3},
                kDraws);
}

// The probabilities become p^(1/T), normalised. At T = 1/2 these are the squares, 1 : 16 : 4 : 9,
// whose sum is 30.
TEST(Sampling, TemperatureSharpensTheSoftmax) {
  constexpr int kDraws = 20000;
  expect_shares(counts_of(kLogits, {.temperature = 0.5, .seed = 1}, kDraws),
                {1 / 30.0, 16 / 30.0, 4 / 30.0, 9 / 30.0}, kDraws);
}

TEST(Sampling, TinyTemperatureIsGreedyAndHugeOneUniform) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sample(kLogits, {.temperature = 1e-6}, i, 0), 1);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(sample(kLogits, {.temperature = std::numeric_limits<double>::denorm_min()}, i, 0), 1);
  constexpr int kDraws = 20000;  // 0.1^0.01 and 0.4^0.01 differ by 1.4 %: within the spread allowed
  expect_shares(counts_of(kLogits, {.temperature = 100.0, .seed = 2}, kDraws),
                {0.25, 0.25, 0.25, 0.25}, kDraws);
}

TEST(Sampling, TopKKeepsTheMostProbableAndTheirProportions) {
  constexpr int kDraws = 20000;
  expect_shares(counts_of(kLogits, {.temperature = 1.0, .top_k = 2, .seed = 4}, kDraws),
                {0.0, 4 / 7.0, 0.0, 3 / 7.0}, kDraws);
  expect_shares(counts_of(kLogits, {.temperature = 1.0, .top_k = 100, .seed = 4}, kDraws),
                {0.1, 0.4, 0.2, 0.3}, kDraws);
}

TEST(Sampling, TopKAmongEqualsKeepsTheLowestIds) {
  const std::vector<int> counts =
      counts_of({1, 1, 1, 1, 1}, {.temperature = 1.0, .top_k = 2, .seed = 5}, 1000);
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[1], 0);
  EXPECT_EQ(counts[2] + counts[3] + counts[4], 0);
}

// The tokens have the probabilities 0.1, 0.4, 0.2 and 0.3. A token is kept if its probability is at
// least min_p times 0.4.
TEST(Sampling, MinPKeepsWhatIsNearTheMostProbable) {
  constexpr int kDraws = 20000;
  const auto counts = [&](double min_p, double top_p) {
    return counts_of(kLogits, {.temperature = 1.0, .top_p = top_p, .seed = 8, .min_p = min_p},
                     kDraws);
  };
  expect_shares(counts(0.24, 1.0), {0.1, 0.4, 0.2, 0.3}, kDraws);
  expect_shares(counts(0.49, 1.0), {0, 4 / 9.0, 2 / 9.0, 3 / 9.0}, kDraws);
  expect_shares(counts(0.51, 1.0), {0, 4 / 7.0, 0, 3 / 7.0}, kDraws);
  expect_shares(counts(1.0, 1.0), {0, 1, 0, 0}, kDraws);
  // top_p refers to what min_p leaves: 4/9 is below 0.6, and 7/9 reaches it.
  expect_shares(counts(0.49, 0.6), {0, 4 / 7.0, 0, 3 / 7.0}, kDraws);
  EXPECT_THROW(validate({.min_p = 1.5}), Error);
  EXPECT_THROW(validate({.min_p = std::nan("")}), Error);
}

// Tokens join the set by falling probability until their sum reaches top_p: 0.4, then 0.3 (sum
// 0.7), 0.2 (sum 0.9), 0.1.
TEST(Sampling, TopPKeepsTheSmallestSetThatReachesIt) {
  constexpr int kDraws = 20000;
  const auto counts = [&](double top_p) {
    return counts_of(kLogits, {.temperature = 1.0, .top_p = top_p, .seed = 6}, kDraws);
  };
  expect_shares(counts(0.01), {0, 1, 0, 0}, kDraws);
  expect_shares(counts(0.39), {0, 1, 0, 0}, kDraws);
  expect_shares(counts(0.41), {0, 4 / 7.0, 0, 3 / 7.0}, kDraws);
  expect_shares(counts(0.69), {0, 4 / 7.0, 0, 3 / 7.0}, kDraws);
  expect_shares(counts(0.71), {0, 4 / 9.0, 2 / 9.0, 3 / 9.0}, kDraws);
  expect_shares(counts(1.0), {0.1, 0.4, 0.2, 0.3}, kDraws);
}

// top_p is a share of the probabilities that top_k left.
TEST(Sampling, TopPAppliesAfterTopK) {
  const std::vector<int> counts =
      counts_of(kLogits, {.temperature = 1.0, .top_p = 0.5, .top_k = 2, .seed = 7}, 1000);
  EXPECT_EQ(counts[1], 1000);  // 4/7 reaches 0.5 alone
}

TEST(Sampling, DrawDependsOnSeedRequestAndIndexAlone) {
  const std::vector<float> logits(50, 0.0f);
  const SamplingOptions options{.temperature = 1.0, .seed = 11};
  const int32_t token = sample(logits, options, 3, 5);
  EXPECT_EQ(sample(logits, options, 3, 5), token);
  std::set<int32_t> by_seed, by_request, by_index;
  for (int i = 0; i < 40; ++i) {
    by_seed.insert(sample(logits, {.temperature = 1.0, .seed = static_cast<uint64_t>(i)}, 3, 5));
    by_request.insert(sample(logits, options, i, 5));
    by_index.insert(sample(logits, options, 3, i));
  }
  // 40 draws from 50 equal tokens: fewer than 15 different ones would be a miracle.
  EXPECT_GT(by_seed.size(), 15u);
  EXPECT_GT(by_request.size(), 15u);
  EXPECT_GT(by_index.size(), 15u);
}

TEST(Sampling, TokensOfNoProbabilityAreNeverDrawn) {
  const std::vector<int> counts =
      counts_of({-kInf, 0.0f, -kInf, 0.0f}, {.temperature = 1.0, .seed = 8}, 2000);
  EXPECT_EQ(counts[0] + counts[2], 0);
  EXPECT_EQ(sample(std::vector<float>{-kInf, -kInf}, {.temperature = 1.0}, 0, 0), 0);
  EXPECT_EQ(sample(std::vector<float>{1.0f, kInf}, {.temperature = 1.0}, 0, 0), 1);
}

// Samples by the definition: sorts the whole vocabulary.
int32_t sample_by_sorting(const std::vector<float>& logits, const SamplingOptions& options,
                          RequestId request, int32_t index) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < order.size())
    order.resize(static_cast<size_t>(options.top_k));
  std::vector<double> weights;
  double total = 0.0;
  for (int32_t id : order) {
    weights.push_back(
        std::exp((logit(id) - static_cast<double>(logit(order[0]))) / options.temperature));
    total += weights.back();
  }
  double kept = 0.0;
  size_t count = 0;
  while (count < order.size() && (count == 0 || kept < options.top_p * total))
    kept += weights[count++];
  double left =
      random_unit(options.seed, static_cast<uint64_t>(request), static_cast<uint64_t>(index)) *
      kept;
  for (size_t i = 0; i < count; ++i) {
    left -= weights[i];
    if (left < 0.0) return order[i];
  }
  return order[count - 1];
}

// Peaked, flat and tied logits, and vocabularies smaller and larger than what is sorted at once.
TEST(Sampling, DrawsAreThoseOfASortedVocabulary) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (size_t vocab : {1, 2, 127, 128, 129, 1000, 5000})
    for (float scale : {0.01f, 1.0f, 8.0f})
      for (bool is_tied : {false, true}) {
        std::vector<float> logits(vocab);
        for (float& value : logits) {
          value = scale * normal(random);
          if (is_tied) value = std::round(2 * value) / 2;
        }
        logits[vocab / 2] = -kInf;
        for (double top_p : {1.0, 0.999, 0.9, 0.3, 1e-9})
          for (int32_t top_k : {0, 2, 200})
            for (double temperature : {0.3, 1.0, 3.0})
              for (int32_t index = 0; index < 4; ++index) {
                const SamplingOptions options{
                    .temperature = temperature, .top_p = top_p, .top_k = top_k, .seed = 13};
                ASSERT_EQ(sample(logits, options, 3, index),
                          vocab == 1 ? 0 : sample_by_sorting(logits, options, 3, index))
                    << "vocab " << vocab << " scale " << scale << " tied " << is_tied << " top_p "
                    << top_p << " top_k " << top_k << " temperature " << temperature;
              }
      }
}

TEST(Sampling, RowsAreDrawnAsEachAlone) {
  const std::vector<float> logits = [] {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(37 * 300);
    for (float& value : values) value = 3 * normal(random);
    return values;
  }();
  const SamplingOptions greedy, warm{.temperature = 0.8, .top_p = 0.95, .seed = 3};
  std::vector<SampleRow> rows;
  std::vector<int32_t> want;
  for (int32_t i = 0; i < 37; ++i) {
    rows.push_back({.logits = std::span(logits).subspan(static_cast<size_t>(i) * 300, 300),
                    .options = i % 3 == 0 ? &greedy : &warm,
                    .request = i / 2,
                    .index = i});
    want.push_back(sample(rows.back().logits, *rows.back().options, i / 2, i));
  }
  for (int threads : {1, 3}) {
    std::vector<int32_t> got(37);
    sample_rows(rows, got, {.threads = threads});
    EXPECT_EQ(got, want) << threads;
  }
  sample_rows({}, {}, {.threads = 2});
}

TEST(Sampling, NanInOneRowReachesTheCaller) {
  std::vector<float> logits(8 * 10, 1.0f);
  logits[57] = std::nanf("");
  const SamplingOptions options{.temperature = 1.0};
  std::vector<SampleRow> rows;
  for (size_t i = 0; i < 8; ++i)
    rows.push_back({.logits = std::span(logits).subspan(i * 10, 10), .options = &options});
  std::vector<int32_t> tokens(8);
  EXPECT_THROW(sample_rows(rows, tokens, {.threads = 2}), Error);
}

TEST(Sampling, NanIsAnErrorThatNamesTheToken) {
  const std::vector<float> logits = {1.0f, std::nanf(""), 2.0f};
  for (double temperature : {0.0, 1.0}) try {
      (void)sample(logits, {.temperature = temperature}, 0, 0);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("token 1"), std::string::npos) << error.what();
    }
}

TEST(Sampling, OptionsThatMakeNoSenseAreNamed) {
  const auto message = [](const SamplingOptions& options) -> std::string {
    try {
      validate(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const double nan = std::nan("");
  for (double temperature : {-0.1, 101.0, nan})
    EXPECT_NE(message({.temperature = temperature}).find("temperature"), std::string::npos);
  for (double top_p : {0.0, -1.0, 1.01, nan})
    EXPECT_NE(message({.top_p = top_p}).find("top_p"), std::string::npos);
  EXPECT_NE(message({.top_k = -1}).find("top_k"), std::string::npos);
  EXPECT_EQ(message({.temperature = 100.0, .top_p = 1.0, .top_k = 1 << 30}), "");
}

}  // namespace
}  // namespace reprise::engine
