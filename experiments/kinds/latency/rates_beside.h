// Measures the machine's rates next to timed work, and computes the least time of a prefill at
// given rates.
#pragma once

#include <optional>
#include <vector>

#include "core/device/context.h"
#include "core/device/machine_probe.h"
#include "core/model/config/config.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

struct Rates {
  double gflop_s = 0, gb_s = 0;
};

// The machine's rates right after each sample. Rates measured at the start may differ, because of
// other programs or another clock rate.
class RatesBeside {
 public:
  // `bytes` is the least number of bytes that a sample reads. If the caches can hold them, nothing
  // is measured, because reading memory would evict them.
  RatesBeside(const Group& group, double bytes, const Context& context, const Machine& machine);
  // Measures after a sample of the group's method `method`.
  void take(size_t method);
  // One entry per sample of the method; empty if nothing is measured.
  [[nodiscard]] const std::vector<Rates>& of(size_t method) const { return rates_[method]; }

 private:
  Limit arithmetic_;
  std::optional<MachineProbe> probe_;
  std::vector<std::vector<Rates>> rates_;  // [methods][samples]
};

// A prefill computes `tokens` positions of each sequence behind `reused` ones, which all
// sequences have in common.
struct PrefillWork {
  int64_t sequences = 1, reused = 0, tokens = 0;
};

// The least time in milliseconds: max(FLOPs / gflop_s, bytes / gb_s), where bytes are the weights
// and the reused keys and values, each read once. Both rates must be above 0.
[[nodiscard]] double prefill_limit_ms(const Group& group, const model::ModelConfig& config,
                                      const PrefillWork& work, const Rates& rates);

}  // namespace reprise::experiments
