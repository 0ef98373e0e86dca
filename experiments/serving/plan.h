// The plan of a serving experiment: which requests are sent to a server, and when. The experiment's
// kind makes the plan and runs it on our engine; `reprise load` runs it on other servers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/run.h"
#include "workloads/arrivals.h"
#include "workloads/serving/request_source.h"
#include "workloads/serving/salt.h"

namespace reprise::experiments::serving {

struct ServingPlan {
  std::shared_ptr<const workloads::RequestSource> source;
  workloads::ArrivalSchedule schedule;  // a time for each request of the source
  // Warm-up, rules and queue growth. `reuse` and `primes` depend on the server and are set by the
  // code that runs the plan.
  RunOptions options;
  // The model's tokenizer, for servers that take only text; null if there is none.
  std::shared_ptr<const Tokenizer> tokenizer;
};

// A run's verdict and its measurement.
struct TrialRun {
  Verdict verdict;
  Measurement measured;
};

// Implemented, in addition to Kind, by a kind whose groups can be sent to a server.
class PlansServing {
 public:
  virtual ~PlansServing() = default;
  // Throws Error for a group whose requests can be drawn, but mean nothing to a server.
  virtual void check_plan(const Group& /*group*/) const {}
  // Returns the plan of a group that has passed check_plan(), with prompts salted by `salt`.
  [[nodiscard]] virtual ServingPlan plan(const Group& group, const workloads::Salt& salt) = 0;
  // If the group asks for the highest rate that keeps its service level, searches for it. Each
  // trial is a `run` of a plan that is salted by a call of next_salt(). Returns nullopt if the
  // group asks for one rate.
  [[nodiscard]] virtual std::optional<Measurement> search(
      const Group& /*group*/, const std::function<workloads::Salt()>& /*next_salt*/,
      const std::function<TrialRun(ServingPlan&)>& /*run*/, const std::atomic<bool>& /*stop*/) {
    return std::nullopt;
  }
};

}  // namespace reprise::experiments::serving
