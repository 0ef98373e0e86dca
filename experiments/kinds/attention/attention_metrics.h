// The metrics of kind "attention".
#pragma once

#include <vector>

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Time of one step's attention, its speedup over other methods, and theoretical bounds on the
// speedup. A speedup is the ratio of two methods' times in the same turn.
inline const MetricInfo kLatencyUs = {
    "latency_us", "us", "attention of one step, keys and values in memory (caches cold)"};
inline const MetricInfo kSpeedup = {"speedup", "ratio",
                                    "time of the file's first method over this one, turn by turn"};
inline const MetricInfo kBestRatio = {
    "best_ratio", "ratio",
    "time of the point's fastest method over this one, turn by turn: 1 for itself"};
inline const MetricInfo kIoBoundSpeedup = {
    "io_bound_speedup", "ratio",
    "B (P + S) / (P + B S): the most that reading P shared keys once can win"};
inline const MetricInfo kIoBoundRatio = {"io_bound_ratio", "ratio",
                                         "speedup over io_bound_speedup"};
inline const MetricInfo kRelayTheorySpeedup = {
    "relay_theory_speedup", "ratio", "(s + c + 2) / (s / b + c + 7), RelayAttention eq. 10"};

// Times that include storing the step's keys and values, as RelayAttention's operator benchmark
// counts them.
inline const MetricInfo kStepUs = {
    "step_us", "us", "storing the step's keys and values, then attention (append_us + latency_us)"};
inline const MetricInfo kStepSpeedup = {
    "step_speedup", "ratio", "step_us of the file's first method over this one, turn by turn"};

// Ratios of the least time that the machine's limits allow to the measured time.
inline const MetricInfo kProblemBesideRatio = {
    "problem_beside_ratio", "ratio",
    "least time for useful bytes and FLOPs, by rates measured beside, over the time"};
inline const MetricInfo kPlanBesideRatio = {
    "plan_beside_ratio", "ratio",
    "least time for the bytes the plan reads and FLOPs, by rates measured beside, over the time"};
inline const MetricInfo kProblemLimitRatio = {
    "problem_limit_ratio", "ratio", "the same as problem_beside_ratio by the probe's rates"};
inline const MetricInfo kPlanLimitRatio = {"plan_limit_ratio", "ratio",
                                           "the same as plan_beside_ratio by the probe's rates"};
inline const MetricInfo kStreamGbS = {
    .name = "stream_gb_s",
    .unit = "GB/s",
    .help = "what the plan reads, read by the same threads in the same order and not computed with",
    .is_on_request = true};
inline const MetricInfo kStreamRatio = {
    .name = "stream_ratio",
    .unit = "ratio",
    .help = "time of that read over the attention's, one after the other, cold",
    .is_on_request = true};

// Times of the parts of a step. PlanOperator uses these metrics' names for its parts.
inline const MetricInfo kAppendUs = {"append_us", "us",
                                     "storing keys and values of the step's tokens"};
inline const MetricInfo kSharedUs = {
    .name = "shared_us",
    .unit = "us",
    .help = "items over several sequences alone (chunk-first phase, system attention)",
    .is_on_request = true};
inline const MetricInfo kPrivateUs = {
    .name = "private_us",
    .unit = "us",
    .help = "items over one sequence alone (sequence-first phase, context attention)",
    .is_on_request = true};
inline const MetricInfo kMergeUs = {.name = "merge_us",
                                    .unit = "us",
                                    .help = "merging the partial results alone",
                                    .is_on_request = true};
inline const MetricInfo kPlanUs = {"plan_us", "us", "writing the plan of a step"};

// Sizes and rates.
inline const MetricInfo kTokensPerS = {"tokens_per_s", "tokens/s",
                                       "batch over the median time of a step of this layer"};
inline const MetricInfo kUsefulMb = {"useful_mb", "MB",
                                     "keys and values a step cannot do without, shared ones once"};
inline const MetricInfo kReadMb = {"read_mb", "MB", "keys and values that the method's plan reads"};
inline const MetricInfo kMflop = {"mflop", "MFLOP", "operations of a step"};
inline const MetricInfo kIntensity = {"intensity", "FLOP/byte",
                                      "operations over the bytes the plan reads"};
inline const MetricInfo kReadGbS = {"read_gb_s", "GB/s", "bytes the plan reads over the time"};
inline const MetricInfo kGflopS = {"gflop_s", "GFLOP/s", "operations over the time"};
inline const MetricInfo kBesideGbS = {"beside_gb_s", "GB/s",
                                      "DRAM read rate measured beside each turn"};
inline const MetricInfo kBesideGflopS = {"beside_gflop_s", "GFLOP/s",
                                         "arithmetic rate measured beside each turn"};

// Metrics of a linear layer around the attention.
struct LinearMetrics {
  MetricInfo time_us, mflop, mb, intensity;
};
inline const LinearMetrics kQkvMetrics = {
    .time_us = {"qkv_us", "us", "projection to queries, keys and values"},
    .mflop = {"qkv_mflop", "MFLOP", "its operations"},
    .mb = {"qkv_mb", "MB", "its weights, inputs and outputs"},
    .intensity = {"qkv_intensity", "FLOP/byte", "their ratio"}};
inline const LinearMetrics kMlpMetrics = {
    .time_us = {"mlp_us", "us", "gated MLP"},
    .mflop = {"mlp_mflop", "MFLOP", "its operations"},
    .mb = {"mlp_mb", "MB", "its weights, inputs and outputs"},
    .intensity = {"mlp_intensity", "FLOP/byte", "their ratio"}};

// All metrics above, in the order of a table.
std::vector<MetricInfo> attention_metrics();

}  // namespace reprise::experiments
