// The times of a serving run's steps, and the least times that this machine allows.
#pragma once

#include <vector>

#include "core/model/config/config.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> step_metrics();

// The limit of a step is the time of its matrix products (the larger of arithmetic and reading the
// weights), plus that of its attention: the keys and values that the plan reads for decoding
// sequences at the DRAM's rate, shared reads once. Attention of prompts is not counted. The limits
// of two methods show how much one can win over the other: little, if products take most of a step.
void add_step_times(const model::ModelConfig& config, const Group& group, const Machine& machine,
                    const serving::RequestLog& log, Measurement& out);

}  // namespace reprise::experiments
