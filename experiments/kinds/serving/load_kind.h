// Measures an experiment on running servers, with the same workload, arrivals and metrics as on
// this project's own engine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/load_audit.h"
#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/plan.h"
#include "experiments/serving/trace_writer.h"

namespace reprise::server {

struct NamedServer {
  std::string label;  // its name in tables and figures
  std::string url;
};

// The values of LoadReuse::allowed. Each says which prompts a request may find in the server's
// cache: "none" (no prompts), "session" (prompts of earlier turns of its conversation),
// "prefix_within_run" (prompts of the run's other requests), "all" (prompts of earlier runs, too).
[[nodiscard]] std::vector<std::string> reuse_names();

struct LoadReuse {
  std::string allowed = "prefix_within_run";  // one of reuse_names()
  // Runs with equal nonces send equal prompts at each point; nullopt: drawn by LoadKind. Unused if
  // `allowed` is "all".
  std::optional<uint64_t> nonce = {};
  bool audits = false;  // each server's first run of a point is followed by an audit (load_audit.h)
};

// Returns the experiment with the servers in place of its methods, because a client cannot choose a
// server's method. A server's points are distinguished by its url, by the model and the form in
// `options`, and by `primes` and `reuse`; those with their default values are left out of the
// methods' options. Throws Error for a label that cannot name a folder, for two equal labels, and
// for an invalid URL.
[[nodiscard]] experiments::Experiment for_servers(experiments::Experiment experiment,
                                                  const std::vector<NamedServer>& servers,
                                                  const LoadReuse& reuse = {},
                                                  const LoadOptions& options = {},
                                                  bool primes = false);

// Sends a group's requests "repetitions" times to each server, each time with new salts. The
// servers get the same requests in turn, a different server first in each repetition. A server's
// record describes its first run, with the throughput of all its runs. One INVALID run makes the
// record INVALID. Groups that search a rate run until the rate is found, one server after another.
// An audit that a server does not pass makes its record INVALID, and does not decide which rates
// pass.
// Records have the metrics of experiments/serving/metrics.h and the verdict in "answers". The
// resolved settings have the server's facts, the audit and the client's own processor time. If the
// client took more than half of its cores' time, the run has a reservation.
class LoadKind final : public experiments::Kind, public experiments::serving::TracedKind {
 public:
  // `plans` must outlive this. The groups' methods name the servers (for_servers()); `options` has
  // the settings that all servers share. If `primes`, prefixes are computed before the first
  // request. Throws Error if the connections need more file descriptors than the system gives, and
  // for an unknown reuse.allowed.
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
  // `name` is the run's name in a trace. If audits are wanted and `audited` is empty, the run is
  // followed by an audit, which is put into `audited`.
  experiments::serving::TrialRun run_plan(const experiments::MethodChoice& server,
                                          const std::string& name,
                                          experiments::serving::ServingPlan& plan,
                                          std::optional<Audit>& audited,
                                          const std::atomic<bool>& stop) const;

  experiments::serving::PlansServing& plans_;
  LoadOptions options_;
  bool primes_;
  LoadReuse reuse_;
};

}  // namespace reprise::server
