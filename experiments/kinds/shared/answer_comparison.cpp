#include "experiments/kinds/shared/answer_comparison.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

size_t top_of(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  REPRISE_CHECK(!logits.empty());
  const double largest = *std::max_element(logits.begin(), logits.end());
  REPRISE_CHECK(std::isfinite(largest), "largest logit {}", largest);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

double kl_divergence(std::span<const float> p_logits, std::span<const float> q_logits) {
  REPRISE_CHECK(p_logits.size() == q_logits.size(), "{} and {} logits", p_logits.size(),
                q_logits.size());
  const double p_sum = log_sum_exp(p_logits), q_sum = log_sum_exp(q_logits);
  double kl = 0;
  for (size_t j = 0; j < p_logits.size(); ++j) {
    const double log_p = static_cast<double>(p_logits[j]) - p_sum;
    const double log_q = static_cast<double>(q_logits[j]) - q_sum;
    kl += std::exp(log_p) * (log_p - log_q);
  }
  return std::max(kl, 0.0);  // rounding may make it negative for equal distributions
}

double log_likelihood(std::span<const float> logits, std::span<const int32_t> tokens) {
  REPRISE_CHECK(!tokens.empty() && logits.size() % tokens.size() == 0, "{} logits for {} tokens",
                logits.size(), tokens.size());
  const size_t vocab = logits.size() / tokens.size();
  double sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const float> row = logits.subspan(i * vocab, vocab);
    const auto token = static_cast<size_t>(tokens[i]);
    REPRISE_CHECK(token < vocab, "token {} of {}", tokens[i], vocab);
    sum += static_cast<double>(row[token]) - log_sum_exp(row);
  }
  return sum;
}

std::optional<int64_t> first_divergence(std::span<const int32_t> baseline,
                                        std::span<const int32_t> variant) {
  const auto parted =
      std::mismatch(baseline.begin(), baseline.end(), variant.begin(), variant.end());
  if (parted.first == baseline.end() && parted.second == variant.end()) return std::nullopt;
  return parted.first - baseline.begin();
}

RowComparison compare_rows(std::span<const float> baseline, std::span<const float> variant,
                           int64_t vocab) {
  REPRISE_CHECK(baseline.size() == variant.size(), "{} and {} logits", baseline.size(),
                variant.size());
  const auto width = static_cast<size_t>(vocab);
  REPRISE_CHECK(vocab > 0 && !baseline.empty() && baseline.size() % width == 0,
                "{} logits of a vocabulary of {}", baseline.size(), vocab);
  const size_t rows = baseline.size() / width;
  RowComparison out;
  for (size_t i = 0; i < rows; ++i) {
    const std::span<const float> p = baseline.subspan(i * width, width);
    const std::span<const float> q = variant.subspan(i * width, width);
    const double kl = kl_divergence(p, q);
    if (i == 0) out.first_kl = kl;
    out.mean_kl += kl / static_cast<double>(rows);
    out.top_1_ratio += top_of(p) == top_of(q) ? 1.0 : 0.0;
  }
  out.top_1_ratio /= static_cast<double>(rows);
  return out;
}

}  // namespace reprise::experiments
