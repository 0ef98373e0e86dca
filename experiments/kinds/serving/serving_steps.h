// What a serving run's steps took, and the least that they could have taken on this machine.
#pragma once

#include <vector>

#include "core/model/config/config.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> step_metrics();

// The limit of a step is its matrix products, the longer of their arithmetic and of reading the
// weights, and then its attention: the keys and values that the method's plan reads for sequences
// that decode, those it reads for several at once only once, at the DRAM's rate. Attention of
// prompts is not counted. Two methods' limits tell how far one can be ahead of the other where both
// are perfect: where products take most of a step, sharing what attention reads gains little.
void add_step_times(const model::ModelConfig& config, const Group& group, const Json& machine,
                    const serving::RequestLog& log, Measurement& out);

}  // namespace reprise::experiments
