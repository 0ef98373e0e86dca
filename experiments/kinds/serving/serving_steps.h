// The times of a serving run's steps, and the least times that this machine allows.
#pragma once

#include <vector>

#include "core/model/config/config.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> step_metrics();

// Adds the times of the steps and their limits, the least times. A step's limit is the time of its
// matrix products, max(FLOPs / rate, weight bytes / DRAM rate), plus the time of its decode
// attention, max(FLOPs / rate, time of reads). A read shared by sequences counts once. The first
// read of a key is at DRAM's rate, repeated reads are at L3's rate. Attention of prompts and
// weights of experts are left out. The ratio of two methods' limits bounds their speedup. If the
// steps are modelled, `machine` is null and only their time is added. Without `machine`, or with a
// sliding window and keys that several sequences read, no limits are added.
void add_step_times(const model::ModelConfig& config, const Group& group, const Machine* machine,
                    const serving::RequestLog& log, Measurement& out);

}  // namespace reprise::experiments
