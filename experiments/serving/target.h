// The server of a run: an engine in this process, stepped in the caller's thread, or a remote
// server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

// An event of a request. Times are of the run's clock; below 0: not known.
struct TargetEvent {
  int64_t request = 0;                  // id given to submit()
  double time_s = 0;                    // time of the tokens, or of the end
  int64_t tokens = 0;                   // number of tokens that came at this time
  std::vector<int32_t> token_ids = {};  // [tokens], if they are known
  int64_t preemptions = 0;              // how often the request was preempted so far
  bool has_begun = false;               // the first token has come, and is reported later

  bool is_end = false;  // the last event of the request; sets the members below
  Outcome outcome = Outcome::kServed;
  std::string reason = {};       // reason for any outcome other than kServed
  double sent_s = -1;            // time of sending; -1: at submit()
  double admitted_s = -1;        // see RequestEntry
  int64_t cached_tokens = -1;    // see RequestEntry
  int64_t prompt_tokens = -1;    // as the server counts them, if it reports them
  int64_t reasoning_tokens = 0;  // see RequestEntry
};

struct TargetReport {
  std::vector<TargetEvent> events;  // events of one request are in the order of their times
  std::vector<StepEntry> steps;     // since the last report, in the run's clock
};

class Target {
 public:
  virtual ~Target() = default;
  // Forgets all cached prompts. Returns false if the target cannot do this. Called only while
  // nothing is running.
  virtual bool flush() = 0;
  // Announces a prefix, or makes the server compute it in another way. has_work() is true until the
  // prefix is computed. If it cannot be computed, this function or advance() throws Error.
  virtual void declare_prefix(const workloads::DeclaredPrefix& prefix) = 0;
  // Takes a request without waiting. `id` must not be running. `intended_s` is a time of the run's
  // clock and not in the future.
  virtual void submit(int64_t id, workloads::ServingRequest request, double intended_s) = 0;
  // Works in this thread, or waits for a server that works elsewhere, and adds events to `report`.
  // Returns when there are events, at latest at `until_s`. A target that works in this thread may
  // return up to one step later.
  virtual void advance(double until_s, TargetReport& report) = 0;
  [[nodiscard]] virtual bool has_work() const = 0;
  // Cancels everything that is running. advance() reports their ends as kCancelled.
  virtual void cancel_all() = 0;
};

}  // namespace reprise::experiments::serving
