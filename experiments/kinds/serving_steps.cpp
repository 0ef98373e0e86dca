#include "experiments/kinds/serving_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/kinds/costs.h"

namespace reprise::experiments {
namespace {

const MetricInfo kStepsS = {"steps_s", "s", "that the engine's steps took together"};
const MetricInfo kStepsLimitS = {
    "steps_limit_s", "s",
    "that they take at least: products at the machine's rates, then the keys and values that "
    "decoding sequences read by this method's plan, at the DRAM's"};
const MetricInfo kStepsLimitRatio = {"steps_limit_ratio", "ratio", "the same over their time"};
const MetricInfo kSchedulingRatio = {
    "scheduling_ratio", "ratio",
    "of the steps' time, that of everything but the model's arithmetic"};

double limit_of(const serving::StepEntry& step, const model::ModelConfig& config,
                const WeightType& type, DType kv_dtype, double gflop_s, double dram_gb_s) {
  const double flop =
      product_flop(config, step.prefill_tokens + step.decode_tokens, step.decode_tokens);
  // Of experts none is counted: which a step's rows were routed to is not known here.
  const auto weights = static_cast<double>(streamed_weight_bytes(config, type, 0));
  const auto read =
      static_cast<double>(std::max<int64_t>(0, step.context_tokens - step.shared_tokens));
  return std::max(flop / (gflop_s * 1e9), weights / (dram_gb_s * 1e9)) +
         read * static_cast<double>(kv_bytes_per_token(config, kv_dtype)) / (dram_gb_s * 1e9);
}

}  // namespace

std::vector<MetricInfo> step_metrics() {
  return {kStepsS, kStepsLimitS, kStepsLimitRatio, kSchedulingRatio};
}

void add_step_times(const model::ModelConfig& config, const Group& group, const Json& machine,
                    const serving::RequestLog& log, Measurement& out) {
  const double gflop_s = gflop_limit(machine, group.dtype), dram_gb_s = dram_limit(machine);
  const bool has_limits = gflop_s > 0 && dram_gb_s > 0;
  double steps_s = 0, scheduling_s = 0, limit_s = 0;
  for (const serving::StepEntry& step : log.steps) {
    steps_s += step.end_s - step.start_s;
    scheduling_s += step.scheduling_s;
    if (has_limits)
      limit_s += limit_of(step, config, group.weight_type(), group.kv_dtype, gflop_s, dram_gb_s);
  }
  if (steps_s <= 0) return;
  out.set(kStepsS, steps_s);
  out.set(kSchedulingRatio, scheduling_s / steps_s);
  if (!has_limits) return;
  out.set(kStepsLimitS, limit_s);
  out.set(kStepsLimitRatio, limit_s / steps_s);
}

}  // namespace reprise::experiments
