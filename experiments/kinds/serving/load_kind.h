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

// The experiment with the server as its only method, because the server's method cannot be chosen:
// `label` names it, and its URL and `model` ("": the first that it lists) tell its points from
// those of other servers. Throws Error for a label that cannot name a folder.
[[nodiscard]] experiments::Experiment for_server(experiments::Experiment experiment,
                                                 const std::string& label, const std::string& url,
                                                 const std::string& model);

// The names of the kinds of reuse. Each says whose prompts a request may find in the server's
// cache: "none" (nobody's), "session" (those of earlier turns of its conversation),
// "prefix_within_run" (those of the run's other requests), "all" (those of earlier runs, too).
[[nodiscard]] std::vector<std::string> reuse_names();

struct LoadReuse {
  std::string allowed = "prefix_within_run";  // of reuse_names()
  // Runs with equal nonces have equal prompts, point by point; unused with "all".
  uint64_t nonce = 0;
};

// A group's requests are sent "repetitions" times, each time with other salts; the record is of the
// first run, but its throughput is that of all, and one INVALID run makes it INVALID. Groups that
// search a rate run until they have found it. Records have the metrics of
// experiments/serving/metrics.h, the verdict in "answers", and what the server tells about itself
// in the resolved settings.
class LoadKind final : public experiments::Kind {
 public:
  // `plans` must outlive this; the options' tokenizer must be the plan's. `primes`: prefixes are
  // computed before the first request. Throws Error if the connections need more file descriptors
  // than the system gives, and for an unknown reuse.
  LoadKind(experiments::serving::PlansServing& plans, LoadOptions options, bool primes = false,
           LoadReuse reuse = {});

  void check(const experiments::Group& group) override;
  [[nodiscard]] experiments::MemoryNeed memory_need(const experiments::Group& group) override;
  std::vector<experiments::Measurement> measure(const experiments::Group& group,
                                                const Machine& machine,
                                                const std::atomic<bool>& stop) override;

 private:
  experiments::serving::TrialRun run_plan(experiments::serving::ServingPlan& plan,
                                          const std::atomic<bool>& stop);

  experiments::serving::PlansServing& plans_;
  LoadOptions options_;
  bool primes_;
  LoadReuse reuse_;
};

}  // namespace reprise::server
