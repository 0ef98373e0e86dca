// A kind of experiment measured on a server that is there already: the same workload, arrivals and
// measurement as on our own engine.
#pragma once

#include <memory>
#include <string>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/plan.h"

namespace reprise::server {

// The experiment with one method, `label`, in the place of its own: the server has a method, and it
// is not ours to choose. Throws Error for a label that could not name a folder.
[[nodiscard]] experiments::Experiment for_server(experiments::Experiment experiment,
                                                 const std::string& label);

// Each group's requests are sent once, whatever "repetitions" says. Records have, beside the
// metrics of experiments/serving/metrics.h, the verdict in "answers" and in the resolved settings
// what the server said of itself.
class LoadKind final : public experiments::Kind {
 public:
  // `plans` must outlive it. The options' tokenizer is the plan's. `primes`: the source's prefixes
  // are computed before the first request. `repeats_prompts`: the points of a sweep have the same
  // prompts, which a server that keeps them then finds; else each has a seed of its own for them.
  // Raises the process's limit of file descriptors where the connections take it, and throws Error
  // where the system gives fewer.
  LoadKind(experiments::serving::PlansServing& plans, LoadOptions options, bool primes = false,
           bool repeats_prompts = false);

  void check(const experiments::Group& group) override;
  [[nodiscard]] experiments::MemoryNeed memory_need(const experiments::Group& group) override;
  std::vector<experiments::Measurement> measure(const experiments::Group& group,
                                                const Json& machine,
                                                const std::atomic<bool>& stop) override;

 private:
  experiments::serving::PlansServing& plans_;
  LoadOptions options_;
  bool primes_, repeats_prompts_;
};

}  // namespace reprise::server
