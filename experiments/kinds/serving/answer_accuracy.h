// Measures the share of a serving run's questions that were answered rightly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> answer_accuracy_metrics();

// True if the requests of `source` are questions, and `source` can judge their answers.
[[nodiscard]] bool has_answers(const workloads::RequestSource& source);

// Sets in `out` the share of the served questions that were answered rightly, with Wilson's
// interval of 95 %, unless no question was served. Only the text before the first end token counts
// as the answer: requests go on to generate all their tokens, although a server that stops at end
// tokens would send no more. End tokens are `end_ids` (ModelConfig::eos_ids) and the tokenizer's.
void add_accuracy(const serving::RequestLog& log, const workloads::RequestSource& source,
                  const Tokenizer& tokenizer, std::span<const int64_t> end_ids, Measurement& out);

}  // namespace reprise::experiments
