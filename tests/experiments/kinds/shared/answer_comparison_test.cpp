// Tests divergences and likelihoods against their definitions, and at their extremes.
#include "experiments/kinds/shared/answer_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.h"

namespace reprise::experiments {
namespace {

using Logits = std::vector<float>;

Logits drawn(uint64_t stream, size_t count, double scale) {
  Logits logits;
  for (uint64_t i = 0; i < count; ++i)
    logits.push_back(static_cast<float>(scale * (random_unit(stream, 0, i) - 0.5)));
  return logits;
}

// Probabilities one by one in long double.
std::vector<long double> softmax(const Logits& logits) {
  long double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
  std::vector<long double> p;
  for (const float logit : logits) p.push_back(std::exp(static_cast<long double>(logit)) / sum);
  return p;
}

TEST(KlDivergence, IsItsDefinition) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Logits a = drawn(seed, 50, 8), b = drawn(seed + 100, 50, 8);
    const auto p = softmax(a), q = softmax(b);
    long double kl = 0;
    for (size_t j = 0; j < p.size(); ++j) kl += p[j] * std::log(p[j] / q[j]);
    EXPECT_NEAR(kl_divergence(a, b), static_cast<double>(kl), 1e-12) << "seed " << seed;
  }
}

TEST(KlDivergence, OfTwoCoinsByHand) {
  // p = (3/4, 1/4), q = (1/2, 1/2): 3/4 log 3/2 + 1/4 log 1/2 = 0.1308.
  const Logits p = {std::log(3.0f), 0}, q = {5, 5};
  EXPECT_NEAR(kl_divergence(p, q), 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
  // With p and q exchanged, it is 1/2 log 2/3 + 1/2 log 2: the divergence is not symmetric.
  EXPECT_NEAR(kl_divergence(q, p), 0.5 * std::log(2.0 / 3) + 0.5 * std::log(2.0), 1e-7);
}

TEST(KlDivergence, IsNoneWhereLogitsDifferByAConstant) {
  const Logits a = drawn(1, 300, 20);
  Logits moved = a;
  for (float& logit : moved) logit += 16;
  EXPECT_EQ(kl_divergence(a, a), 0);
  EXPECT_NEAR(kl_divergence(a, moved), 0, 1e-12);
}

TEST(KlDivergence, HoldsForLogitsBeyondTheRangeOfExp) {
  const Logits a = {1000, 0, -1000}, b = {0, 1000, -1000};
  EXPECT_NEAR(kl_divergence(a, b), 1000, 1e-9);
  EXPECT_NEAR(log_sum_exp(a), 1000, 1e-12);
  EXPECT_NEAR(log_sum_exp(Logits{-1000, -1000}), -1000 + std::log(2.0), 1e-12);
}

TEST(LogLikelihood, AddsTheRowsOfAnAnswer) {
  const Logits logits = {0, 0, 0, 0, std::log(2.0f), 0, 0, 0};  // [2, 4]
  EXPECT_NEAR(log_likelihood(logits, std::vector<int32_t>{3, 0}), std::log(0.25) + std::log(0.4),
              1e-7);
  EXPECT_NEAR(log_likelihood(logits, std::vector<int32_t>{0, 1}), std::log(0.25) + std::log(0.2),
              1e-7);
}

TEST(FirstDivergence, NamesTheFirstTokenThatDiffers) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(first_divergence(Ids{1, 2, 3}, Ids{1, 2, 3}), std::nullopt);
  EXPECT_EQ(first_divergence(Ids{1, 2, 3}, Ids{1, 5, 3}), 1);
  EXPECT_EQ(first_divergence(Ids{1, 2, 3}, Ids{1, 2}), 2);
  EXPECT_EQ(first_divergence(Ids{1, 2}, Ids{1, 2, 9}), 2);
  EXPECT_EQ(first_divergence(Ids{}, Ids{4}), 0);
  EXPECT_EQ(first_divergence(Ids{}, Ids{}), std::nullopt);
}

TEST(CompareRows, TellsTheFirstRowFromTheMean) {
  const Logits p = {std::log(3.0f), 0, 2, 1}, q = {5, 5, 1, 2};  // [2, 2]
  const RowComparison rows = compare_rows(p, q, 2);
  const double second = kl_divergence(Logits{2, 1}, Logits{1, 2});
  EXPECT_NEAR(rows.first_kl, 0.1308, 1e-4);
  EXPECT_NEAR(rows.mean_kl, (rows.first_kl + second) / 2, 1e-12);
  // The first of q's equal logits is the top, as in p; in the second row the tops differ.
  EXPECT_EQ(rows.top_1_ratio, 0.5);
}

TEST(CompareRows, OfARunWithItselfIsNothing) {
  const Logits logits = drawn(3, 5 * 40, 12);
  const RowComparison rows = compare_rows(logits, logits, 40);
  EXPECT_EQ(rows.first_kl, 0);
  EXPECT_EQ(rows.mean_kl, 0);
  EXPECT_EQ(rows.top_1_ratio, 1);
}

}  // namespace
}  // namespace reprise::experiments
