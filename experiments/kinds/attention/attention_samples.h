// The samples that the turns of kind "attention" take, and the metrics computed from the samples.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/framework/undisturbed.h"
#include "experiments/kinds/attention/attention_operator.h"
#include "experiments/kinds/attention/layer_around.h"

namespace reprise::experiments {

// Rates of the machine at one moment.
struct MomentRates {
  double dram_read_gb_s = 0;
  double gflop_s = 0;  // rate of products in the keys' dtype
};

// One timed step of one operator.
struct AttentionTurn {
  double append_us = 0, latency_us = 0;
  MomentRates beside;
  int64_t keys = 0;          // keys that each query sees
  double kv_bytes_read = 0;  // bytes that the operator's plan reads
};

// Two times with cold caches. stream_us: reading the step's keys and values without computing.
// latency_us: the step's attention, run right before or after that read.
struct StreamTurn {
  double stream_us = 0;
  double latency_us = 0;  // 0: not measured
  double kv_bytes_read = 0;
};

struct AttentionSamples {
  std::vector<AttentionTurn> turns;
  std::map<std::string, std::vector<double>> parts_us;  // times of parts, by their metric's name
  std::vector<StreamTurn> streams;                      // empty if the operator has no stream()
  Undisturbed taking;                                   // core use of the turns
};

// Times of the linear layers around the attention in microseconds; empty if there are none.
struct LayerSamples {
  LayerWidth width;
  std::vector<double> qkv_us, mlp_us;
};

// Adds samples and metrics of method `m` of a group to `out`. `group` has the samples of all
// methods; speedups are ratios to the first method, turn by turn. Must be called after
// add_layer_metrics(): it sets out.disturbed, and the layers were timed apart from the turns.
void add_attention_metrics(const AttentionProblem& problem, std::span<const AttentionSamples> group,
                           size_t m, const Machine& machine, Measurement& out);
void add_layer_metrics(const AttentionProblem& problem, DType dtype, const LayerSamples& samples,
                       Measurement& out);

}  // namespace reprise::experiments
