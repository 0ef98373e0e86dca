#include "experiments/kinds/serving/answer_accuracy.h"

#include <algorithm>

#include "core/base/error.h"
#include "results/proportion.h"

namespace reprise::experiments {
namespace {

const MetricInfo kAccuracy = {"accuracy", "ratio",
                              "of the served questions, those answered rightly; for workloads with "
                              "answers and models with weights of their own"};
const MetricInfo kAccuracyLow = {"accuracy_low", "ratio", "lower end of its 95 % interval"};
const MetricInfo kAccuracyHigh = {"accuracy_high", "ratio", "upper end of its 95 % interval"};

std::string answer_of(std::vector<int32_t> tokens, const Tokenizer& tokenizer,
                      std::span<const int64_t> end_ids) {
  const auto is_end = [&](int32_t token) {
    return token == tokenizer.eos_id() ||
           std::find(end_ids.begin(), end_ids.end(), token) != end_ids.end();
  };
  tokens.erase(std::find_if(tokens.begin(), tokens.end(), is_end), tokens.end());
  return tokenizer.decode(tokens);
}

}  // namespace

std::vector<MetricInfo> answer_accuracy_metrics() {
  return {kAccuracy, kAccuracyLow, kAccuracyHigh};
}

bool has_answers(const workloads::RequestSource& source) {
  return source.size() > 0 && source.is_right(0, "").has_value();
}

void add_accuracy(const serving::RequestLog& log, const workloads::RequestSource& source,
                  const Tokenizer& tokenizer, std::span<const int64_t> end_ids, Measurement& out) {
  int64_t right = 0, judged = 0;
  for (const serving::RequestEntry& request : log.requests) {
    if (request.outcome != serving::Outcome::kServed) continue;
    const std::optional<bool> is_right =
        source.is_right(request.index, answer_of(request.tokens, tokenizer, end_ids));
    REPRISE_CHECK(is_right.has_value(), "request {} of a source with answers has none",
                  request.index);
    right += *is_right ? 1 : 0;
    ++judged;
  }
  if (judged == 0) return;
  const results::Interval interval = results::wilson_interval(right, judged, 0.95);
  out.set(kAccuracy, static_cast<double>(right) / static_cast<double>(judged));
  out.set(kAccuracyLow, interval.low);
  out.set(kAccuracyHigh, interval.high);
}

}  // namespace reprise::experiments
