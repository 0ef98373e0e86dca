#include "core/engine/token_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"

namespace reprise::engine {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

void require_token(const char* rule, int32_t token, int32_t vocab) {
  if (token < 0 || token >= vocab)
    raise("{}: token {} is outside the vocabulary of {}", rule, token, vocab);
}

void forbid_all_but(std::span<const int32_t> allowed, std::span<float> logits) {
  size_t next = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool is_allowed = next < allowed.size() && allowed[next] == static_cast<int32_t>(i);
    if (is_allowed)
      ++next;
    else
      logits[i] = kForbidden;
  }
}

}  // namespace

bool TokenRules::empty() const {
  return bias.empty() && allowed.empty() && (withheld.empty() || min_tokens == 0) &&
         repetition_penalty == 1.0 && frequency_penalty == 0.0 && presence_penalty == 0.0;
}

void TokenRules::validate(int32_t vocab) const {
  for (const auto& [token, value] : bias) {
    require_token("bias", token, vocab);
    if (!std::isfinite(value)) raise("the bias of token {} is {}: give a number", token, value);
  }
  for (const int32_t token : allowed) require_token("allowed tokens", token, vocab);
  for (const int32_t token : withheld) require_token("withheld tokens", token, vocab);
  const auto is_ascending = [](int32_t a, int32_t b) { return a >= b; };
  if (std::adjacent_find(allowed.begin(), allowed.end(), is_ascending) != allowed.end())
    raise("allowed tokens must be ascending and different");
  if (!(repetition_penalty > 0.0) || !std::isfinite(repetition_penalty))
    raise("the repetition penalty is {}, it must be above 0 (1: none)", repetition_penalty);
  if (!std::isfinite(frequency_penalty) || !std::isfinite(presence_penalty))
    raise("the frequency penalty is {} and the presence penalty {}: give numbers",
          frequency_penalty, presence_penalty);
  const auto is_withheld = [this](int32_t token) {
    return std::find(withheld.begin(), withheld.end(), token) != withheld.end();
  };
  if (min_tokens > 0 && !allowed.empty() &&
      std::all_of(allowed.begin(), allowed.end(), is_withheld))
    raise("no token may come first: all allowed ones end the answer, which is to have {} at least",
          min_tokens);
}

void TokenRules::apply(std::span<const int32_t> prompt, std::span<const int32_t> generated,
                       std::span<float> logits) const {
  const auto logit = [&](int32_t token) -> float& { return logits[static_cast<size_t>(token)]; };
  if (!allowed.empty()) forbid_all_but(allowed, logits);
  if (std::cmp_less(generated.size(), min_tokens))
    for (const int32_t token : withheld) logit(token) = kForbidden;
  for (const auto& [token, value] : bias) logit(token) += value;

  const bool has_penalty =
      repetition_penalty != 1.0 || frequency_penalty != 0.0 || presence_penalty != 0.0;
  if (!has_penalty) return;
  std::unordered_map<int32_t, int32_t> counts;
  for (const int32_t token : generated) ++counts[token];
  if (repetition_penalty != 1.0) {
    std::unordered_set<int32_t> seen(prompt.begin(), prompt.end());
    for (const auto& [token, count] : counts) seen.insert(token);
    const auto penalty = static_cast<float>(repetition_penalty);
    for (const int32_t token : seen)
      logit(token) = logit(token) > 0 ? logit(token) / penalty : logit(token) * penalty;
  }
  for (const auto& [token, count] : counts)
    logit(token) -= static_cast<float>(frequency_penalty * count + presence_penalty);
}

}  // namespace reprise::engine
