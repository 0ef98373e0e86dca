// Measures an experiment on a running server, with the workload, arrivals and measurement of our
// own engine.
#pragma once

#include <memory>
#include <string>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/plan.h"

namespace reprise::server {

// The experiment with `label` as its only method, because the server's method cannot be chosen.
// Throws Error for a label that cannot name a folder.
[[nodiscard]] experiments::Experiment for_server(experiments::Experiment experiment,
                                                 const std::string& label);

// Each group's requests are sent once, whatever "repetitions" says. Records have the metrics of
// experiments/serving/metrics.h, the verdict in "answers", and what the server tells about itself
// in the resolved settings.
class LoadKind final : public experiments::Kind {
 public:
  // `plans` must outlive this; the options' tokenizer must be the plan's. `primes`: prefixes are
  // computed before the first request. `repeats_prompts`: all points of a sweep have the same
  // prompts, which a server may have cached; otherwise each point has its own seed. Throws Error if
  // the connections need more file descriptors than the system gives.
  LoadKind(experiments::serving::PlansServing& plans, LoadOptions options, bool primes = false,
           bool repeats_prompts = false);

  void check(const experiments::Group& group) override;
  [[nodiscard]] experiments::MemoryNeed memory_need(const experiments::Group& group) override;
  std::vector<experiments::Measurement> measure(const experiments::Group& group,
                                                const Machine& machine,
                                                const std::atomic<bool>& stop) override;

 private:
  experiments::serving::PlansServing& plans_;
  LoadOptions options_;
  bool primes_, repeats_prompts_;
};

}  // namespace reprise::server
