#include "experiments/kinds/latency/rates_beside.h"

#include <algorithm>
#include <string_view>

#include "experiments/kinds/shared/costs.h"

namespace reprise::experiments {

RatesBeside::RatesBeside(const Group& group, double bytes, const Context& context,
                         const Machine& machine)
    : arithmetic_(group.dtype == DType::kBF16 ? Limit::kBf16 : Limit::kF32),
      rates_(group.methods.size()) {
  if (std::string_view(memory_limit(machine, bytes).level) == "dram") probe_.emplace(context);
}

void RatesBeside::take(size_t method) {
  if (!probe_) return;
  // While a peer's program computes, the threads of this process sleep and cores may slow down.
  // This first sample, which would measure their waking, is dropped.
  (void)probe_->sample(arithmetic_);
  rates_[method].push_back(
      {.gflop_s = probe_->sample(arithmetic_), .gb_s = probe_->sample(Limit::kDramRead)});
}

double prefill_limit_ms(const Group& group, const model::ModelConfig& config,
                        const PrefillWork& work, const Rates& rates) {
  const double flop =
      static_cast<double>(work.sequences) * prefill_flop(config, work.reused, work.tokens);
  // The first computed position sees the most of the reused ones: window - 1 of them.
  const int64_t seen =
      config.sliding_window > 0 ? std::min(work.reused, config.sliding_window - 1) : work.reused;
  const double bytes = static_cast<double>(streamed_weight_bytes(config, group.weight_type(), 0) +
                                           seen * kv_bytes_per_token(config, group.kv_dtype));
  return 1e-6 * std::max(flop / rates.gflop_s, bytes / rates.gb_s);
}

}  // namespace reprise::experiments
