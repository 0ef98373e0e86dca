#include "experiments/kinds/serving/serving_steps.h"

#include <algorithm>

#include "experiments/kinds/shared/costs.h"

namespace reprise::experiments {
namespace {

const MetricInfo kStepsS = {"steps_s", "s", "that the engine's steps took together"};
const MetricInfo kStepsLimitS = {
    "steps_limit_s", "s",
    "that they take at least: products at the machine's rates, then attention of decoding "
    "sequences by this method's plan, whichever is longer of its products and its reads: each "
    "block once at the DRAM's rate, and again at the L3's"};
const MetricInfo kStepsDramLimitS = {"steps_dram_limit_s", "s",
                                     "the same, if nothing were left in a cache for a second read"};
const MetricInfo kStepsLimitRatio = {"steps_limit_ratio", "ratio", "the same over their time"};
const MetricInfo kSchedulingRatio = {
    "scheduling_ratio", "ratio",
    "of the steps' time, that of everything but the model's arithmetic"};

struct Rates {
  double flop_s = 0, dram_bytes_s = 0, l3_bytes_s = 0;
};

Rates rates_of(const Machine& machine, DType dtype) {
  // memory_limit() of 0 bytes is the limit of the L3 cache.
  return {.flop_s = gflop_limit(machine, dtype) * 1e9,
          .dram_bytes_s = dram_limit(machine) * 1e9,
          .l3_bytes_s = memory_limit(machine, 0).gb_s * 1e9};
}

// The time of a step's matrix products, for all rows together.
double products_s(const serving::StepEntry& step, const model::ModelConfig& config,
                  const WeightType& type, const Rates& rates) {
  // A decoding sequence has one row of logits, even if all its rows are computed again.
  const double flop = product_flop(config, step.prefill_tokens + step.decode_tokens,
                                   std::min(step.decode_tokens, step.batch));
  // No experts are counted, because the routing of a step's rows is not known here.
  const auto weights = static_cast<double>(streamed_weight_bytes(config, type, 0));
  return std::max(flop / rates.flop_s, weights / rates.dram_bytes_s);
}

// The time of the attention of decoding sequences. `again_bytes_s` is the read rate for states that
// were already read in the same step.
double attention_s(const serving::StepEntry& step, const model::ModelConfig& config, DType kv_dtype,
                   const Rates& rates, double again_bytes_s) {
  const auto token_bytes = static_cast<double>(kv_bytes_per_token(config, kv_dtype));
  const int64_t read = std::max<int64_t>(0, step.context_tokens - step.shared_tokens);
  const int64_t again = std::min(read, step.repeated_tokens);
  const double reads = token_bytes * (static_cast<double>(read - again) / rates.dram_bytes_s +
                                      static_cast<double>(again) / again_bytes_s);
  const double flop = 4.0 * static_cast<double>(config.layers * config.q_dim()) *
                      static_cast<double>(step.context_tokens);
  return std::max(flop / rates.flop_s, reads);
}

// True if the limit of the step can be computed. It cannot with a sliding window if keys are shared
// or read again: shared_tokens and repeated_tokens count all tokens of a segment, but
// context_tokens counts only those in the window.
bool has_limit(const model::ModelConfig& config, const serving::StepEntry& step) {
  return config.sliding_window <= 0 || (step.shared_tokens == 0 && step.repeated_tokens == 0);
}

}  // namespace

std::vector<MetricInfo> step_metrics() {
  return {kStepsS, kStepsLimitS, kStepsDramLimitS, kStepsLimitRatio, kSchedulingRatio};
}

void add_step_times(const model::ModelConfig& config, const Group& group, const Machine* machine,
                    const serving::RequestLog& log, Measurement& out) {
  const Rates rates = machine != nullptr ? rates_of(*machine, group.dtype) : Rates{};
  const bool has_limits =
      rates.flop_s > 0 && rates.dram_bytes_s > 0 &&
      std::all_of(log.steps.begin(), log.steps.end(),
                  [&](const serving::StepEntry& step) { return has_limit(config, step); });
  double steps_s = 0, scheduling_s = 0, limit_s = 0, dram_limit_s = 0;
  for (const serving::StepEntry& step : log.steps) {
    steps_s += step.end_s - step.start_s;
    scheduling_s += step.scheduling_s;
    if (!has_limits) continue;
    const double products = products_s(step, config, group.weight_type(), rates);
    limit_s += products + attention_s(step, config, group.kv_dtype, rates, rates.l3_bytes_s);
    dram_limit_s += products + attention_s(step, config, group.kv_dtype, rates, rates.dram_bytes_s);
  }
  if (steps_s <= 0) return;
  out.set(kStepsS, steps_s);
  if (machine != nullptr) out.set(kSchedulingRatio, scheduling_s / steps_s);
  if (!has_limits) return;
  out.set(kStepsLimitS, limit_s);
  out.set(kStepsDramLimitS, dram_limit_s);
  out.set(kStepsLimitRatio, limit_s / steps_s);
}

}  // namespace reprise::experiments
