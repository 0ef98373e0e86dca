// Who serves: an engine in this process, stepped in the caller's thread, or a server elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

// What became known of a request. Times are of the run's clock; below 0: not known.
struct TargetEvent {
  int64_t request = 0;                  // as it was submitted
  double time_s = 0;                    // of the tokens, or of the end
  int64_t tokens = 0;                   // that came at that time; those of one message share it
  std::vector<int32_t> token_ids = {};  // [tokens], where they are known

  bool is_end = false;  // and the following are said; nothing of this request comes after it
  Outcome outcome = Outcome::kServed;
  std::string reason = {};     // of all but kServed
  double sent_s = -1;          // where it was not at submit() already
  double admitted_s = -1;      // as RequestEntry has it
  int64_t cached_tokens = -1;  // likewise
  int64_t prompt_tokens = -1;  // as the server counts them, where it tells
  int64_t preemptions = 0;
};

struct TargetReport {
  std::vector<TargetEvent> events;  // of one request in the order of their times
  std::vector<StepEntry> steps;     // since the last report; times of the run's clock
};

class Target {
 public:
  virtual ~Target() = default;
  // Forgets every prompt it may have cached; false where that cannot be had of it. Asked only while
  // nothing is under way.
  virtual bool flush() = 0;
  // Announces a prefix, or has it computed in whatever way it has; has_work() until that is done.
  // Throws Error where it cannot be computed, here or in advance().
  virtual void declare_prefix(const workloads::DeclaredPrefix& prefix) = 0;
  // Takes a request, and does not wait for anything. `id` is not under way; `intended_s` is of the
  // run's clock and not after now.
  virtual void submit(int64_t id, workloads::ServingRequest request, double intended_s) = 0;
  // Works, or waits where others work, and adds to `report` what has happened: returns once
  // something has, or at `until_s`, whatever comes first. One that works in this thread may return
  // later by a step; one without work returns at `until_s`.
  virtual void advance(double until_s, TargetReport& report) = 0;
  [[nodiscard]] virtual bool has_work() const = 0;
  // Gives up all that is under way; the ends come by advance(), as kCancelled.
  virtual void cancel_all() = 0;
};

}  // namespace reprise::experiments::serving
