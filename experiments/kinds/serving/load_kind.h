// Measures an experiment on a running server, with the workload, arrivals and measurement of our
// own engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/plan.h"
#include "experiments/serving/trace_writer.h"

namespace reprise::server {

struct NamedServer {
  std::string label;  // its name in tables and figures
  std::string url;
  std::string model = {};  // "": the first that it lists
};

// The names of the kinds of reuse. Each says whose prompts a request may find in the server's
// cache: "none" (nobody's), "session" (those of earlier turns of its conversation),
// "prefix_within_run" (those of the run's other requests), "all" (those of earlier runs, too).
[[nodiscard]] std::vector<std::string> reuse_names();

struct LoadReuse {
  std::string allowed = "prefix_within_run";  // one of reuse_names()
  // Runs with equal nonces have equal prompts, point by point; unused with "all".
  uint64_t nonce = 0;
  bool audits = false;  // each server's first run of a point is followed by an audit (load_audit.h)
};

// Returns the experiment with the servers in place of its methods, because a client cannot choose a
// server's method. The options url, model, reuse (unless it is the default) and audit distinguish a
// server's points from others. Throws Error for a label that cannot name a folder, for two equal
// labels, and for an invalid URL.
[[nodiscard]] experiments::Experiment for_servers(experiments::Experiment experiment,
                                                  const std::vector<NamedServer>& servers,
                                                  const LoadReuse& reuse = {});

// A group's requests are sent "repetitions" times to each server, each time with other salts. The
// servers get the same requests in turn, a different server first each time. A server's record
// describes its first run, with the throughput of all its runs. One INVALID run makes the record
// INVALID. Groups that search a rate run until they have found it, one server after another.
// Records have the metrics of experiments/serving/metrics.h, the verdict in "answers", and in the
// resolved settings what the server reports about itself, what an audit found, and the client's own
// use of the processor: a run that took more than half of its cores' time has a reservation.
class LoadKind final : public experiments::Kind, public experiments::serving::TracedKind {
 public:
  // `plans` must outlive this. The groups' methods name the servers (for_servers()); `options` has
  // the settings that all of them share. `primes`: prefixes are computed before the first request.
  // Throws Error if the connections need more file descriptors than the system gives, and for an
  // unknown reuse.
  LoadKind(experiments::serving::PlansServing& plans, LoadOptions options, bool primes = false,
           LoadReuse reuse = {});

  void check(const experiments::Group& group) override;
  [[nodiscard]] experiments::MemoryNeed memory_need(const experiments::Group& group) override;
  std::vector<experiments::Measurement> measure(const experiments::Group& group,
                                                const Machine& machine,
                                                const std::atomic<bool>& stop) override;

 private:
  using Salts = std::function<workloads::Salt()>;
  std::vector<experiments::Measurement> measure_in_turn(const experiments::Group& group,
                                                        const Salts& next_salt,
                                                        const std::atomic<bool>& stop);
  experiments::serving::TrialRun run_plan(const experiments::MethodChoice& server,
                                          experiments::serving::ServingPlan& plan, bool audits,
                                          const std::atomic<bool>& stop) const;

  experiments::serving::PlansServing& plans_;
  LoadOptions options_;
  bool primes_;
  LoadReuse reuse_;
};

}  // namespace reprise::server
