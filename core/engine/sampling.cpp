#include "core/engine/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/device/operation_log.h"

namespace reprise::engine {
namespace {

int32_t greedy(std::span<const float> logits, RequestId request) {
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) throw BadLogits(request, i);
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int32_t>(best);
}

// Tokens by descending probability; equal ones by ascending id. Sorted only as far as needed, since
// a draw seldom looks beyond the first hundred.
class Candidates {
 public:
  Candidates(std::span<const float> logits, double temperature, double top)
      : temperature_(temperature), top_(top), tokens_(logits.size()) {
    for (size_t i = 0; i < logits.size(); ++i) tokens_[i] = {logits[i], static_cast<int32_t>(i)};
  }

  void keep_most_probable(size_t count) {
    if (count >= tokens_.size()) return;
    std::nth_element(tokens_.begin(), at(count), tokens_.end(), is_before);
    tokens_.resize(count);
  }

  // Keeps the tokens whose probability is at least `share` times that of the most probable one.
  void keep_near_the_top(double share) {
    if (share > 0.0) drop_improbable(share);
  }

  // Divides [0, 1) among the tokens of the smallest set that reaches top_p, in proportion to their
  // probabilities. Returns the token whose interval contains `unit`. The total is summed in
  // unsorted order, so its last bit may differ from a sorted sum.
  int32_t draw(double top_p, double unit) {
    double total = 0.0;
    for (const Token& token : tokens_) total += weight(token);
    if (!std::isfinite(total)) return token_at(0).id;  // some logit is infinite
    double kept = total;
    size_t count = tokens_.size();
    if (top_p < 1.0) {
      // The tokens dropped here together weigh less than half of what top_p leaves out, so the
      // remaining tokens still reach top_p.
      drop_improbable(0.5 * (1.0 - top_p) * total / static_cast<double>(tokens_.size()));
      kept = 0.0;
      count = 0;
      while (count < tokens_.size() && (count == 0 || kept < top_p * total))
        kept += weight(token_at(count++));
    }
    double left = unit * kept;
    int32_t last = token_at(0).id;  // the last token with a positive probability
    for (size_t i = 0; i < count; ++i) {
      const double share = weight(token_at(i));
      left -= share;
      if (left < 0.0) return tokens_[i].id;
      if (share == 0.0) break;
      last = tokens_[i].id;
    }
    return last;
  }

 private:
  struct Token {
    float logit;
    int32_t id;
  };
  static bool is_before(const Token& a, const Token& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
  [[nodiscard]] double weight(const Token& token) const {
    return std::exp((token.logit - top_) / temperature_);
  }
  [[nodiscard]] std::vector<Token>::iterator at(size_t i) {
    return tokens_.begin() + static_cast<std::ptrdiff_t>(i);
  }

  // Removes tokens whose weight is below `least`. The weight of the most probable token is 1.
  void drop_improbable(double least) {
    std::erase_if(tokens_, [&](const Token& token) { return weight(token) < least; });
  }

  const Token& token_at(size_t i) {
    while (i >= sorted_) {
      constexpr size_t kFirst = 128;
      const size_t end = std::min(tokens_.size(), std::max(kFirst, 4 * sorted_));
      if (end < tokens_.size()) std::nth_element(at(sorted_), at(end), tokens_.end(), is_before);
      std::sort(at(sorted_), at(end), is_before);
      sorted_ = end;
    }
    return tokens_[i];
  }

  double temperature_, top_;
  std::vector<Token> tokens_;
  size_t sorted_ = 0;  // number of leading tokens that are in their final order
};

}  // namespace

BadLogits::BadLogits(RequestId request, size_t token)
    : Error(fmt::format(
          "the model produced NaN as logit of token {}: its weights or inputs are corrupt", token)),
      request_(request) {}

void validate(const SamplingOptions& options) {
  if (!(options.temperature >= 0.0 && options.temperature <= 100.0))
    raise("temperature is {}, it must be from 0 (greedy) to 100", options.temperature);
  if (!(options.top_p > 0.0 && options.top_p <= 1.0))
    raise("top_p is {}, it must be in (0, 1]", options.top_p);
  if (!(options.min_p >= 0.0 && options.min_p <= 1.0))
    raise("min_p is {}, it must be from 0 (none) to 1", options.min_p);
  if (options.top_k < 0) raise("top_k is {}, it must be 0 (all) or more", options.top_k);
}

double draw_unit(const SamplingOptions& options, RequestId request, int32_t index) {
  const int64_t stream = options.stream < 0 ? request : options.stream;
  return random_unit(options.seed, static_cast<uint64_t>(stream), static_cast<uint64_t>(index));
}

int32_t sample(std::span<const float> logits, const SamplingOptions& options, RequestId request,
               int32_t index) {
  const int32_t best = greedy(logits, request);
  if (options.temperature == 0.0 || options.top_k == 1) return best;
  Candidates candidates(logits, options.temperature,
                        static_cast<double>(logits[static_cast<size_t>(best)]));
  candidates.keep_near_the_top(options.min_p);
  if (options.top_k > 0) candidates.keep_most_probable(static_cast<size_t>(options.top_k));
  return candidates.draw(options.top_p, draw_unit(options, request, index));
}

void sample_rows(std::span<const SampleRow> rows, std::span<int32_t> tokens,
                 const Context& context) {
  REPRISE_CHECK(tokens.size() == rows.size(), "{} rows, {} tokens", rows.size(), tokens.size());
  const OperationSpan span(context, "sampling");
  parallel_for(context, static_cast<int64_t>(rows.size()), [&](int64_t item, int) {
    const SampleRow& row = rows[static_cast<size_t>(item)];
    std::span<const float> logits = row.logits;
    std::vector<float> changed;
    if (row.options->rules != nullptr) {
      changed.assign(logits.begin(), logits.end());
      row.options->rules->apply(row.prompt, row.generated, changed);
      logits = changed;
    }
    tokens[static_cast<size_t>(item)] = sample(logits, *row.options, row.request, row.index);
  });
}

}  // namespace reprise::engine
