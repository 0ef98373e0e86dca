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

// Measures the machine's rates right after each sample, since rates measured at the start of a run
// may no longer hold: other programs may run, or the processor's clock rate may have changed.
class RatesBeside {
 public:
  // `bytes` is the least number of bytes that a sample reads. If they fit into the caches, nothing
  // is measured, because measuring the memory's rate would evict them.
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

// A prefill that computes `tokens` positions of each of `sequences` sequences. They follow `reused`
// cached positions, which all sequences have in common.
struct PrefillWork {
  int64_t sequences = 1, reused = 0, tokens = 0;
};

// The least time in milliseconds: max(FLOPs / gflop_s, bytes / gb_s), where bytes are the weights
// and the reused keys and values that a computed position sees, each read once. Both rates must be
// above 0.
[[nodiscard]] double prefill_limit_ms(const Group& group, const model::ModelConfig& config,
                                      const PrefillWork& work, const Rates& rates);

}  // namespace reprise::experiments
