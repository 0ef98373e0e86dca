// Measures the share of a serving run's questions that were answered rightly.
#pragma once

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
// interval of 95 %, unless no question was served. Only the text before the model's end token
// counts as the answer: requests go on to generate all their tokens, although a server that stops
// at the end token would send no more.
void add_accuracy(const serving::RequestLog& log, const workloads::RequestSource& source,
                  const Tokenizer& tokenizer, Measurement& out);

}  // namespace reprise::experiments
