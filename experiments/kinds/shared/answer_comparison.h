// Measures how far one answer deviates from another: where their tokens differ, and how far the
// models' probabilities for each token differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reprise::experiments {

// These functions compute in double from f32 logits, with natural logarithms. Logits must be finite
// and not empty (CHECK).

// log sum_j exp(logits_j)
[[nodiscard]] double log_sum_exp(std::span<const float> logits);

// Kullback and Leibler's divergence of next-token distributions p, q = softmax of the logits:
//   KL(p || q) = sum_j p_j (log p_j - log q_j)   >= 0, in nats
// `p_logits` and `q_logits` must be equally long (CHECK).
[[nodiscard]] double kl_divergence(std::span<const float> p_logits,
                                   std::span<const float> q_logits);

// sum_i log softmax(logits_i)[tokens_i], the logarithm of the probability of `tokens`.
//   logits   [tokens, vocab], row i the logits from which token i is drawn
[[nodiscard]] double log_likelihood(std::span<const float> logits, std::span<const int32_t> tokens);

// Returns the index of the first token that differs. If one answer is the beginning of the other,
// returns the length of the shorter answer. Returns nullopt if the answers are equal.
[[nodiscard]] std::optional<int64_t> first_divergence(std::span<const int32_t> baseline,
                                                      std::span<const int32_t> variant);

// Compares the logits of two models that are given the same answer, token by token.
struct RowComparison {
  double first_kl = 0;     // KL(baseline || variant) of the first row
  double mean_kl = 0;      // over all rows
  double top_1_ratio = 0;  // share of rows whose most probable token is the same
};

//   baseline, variant   [rows, vocab], rows >= 1 (CHECK). Row i has the logits from which token i
//                       of the answer is drawn, given the baseline's tokens before token i. Among
//                       equal logits the first counts as the most probable.
[[nodiscard]] RowComparison compare_rows(std::span<const float> baseline,
                                         std::span<const float> variant, int64_t vocab);

}  // namespace reprise::experiments
