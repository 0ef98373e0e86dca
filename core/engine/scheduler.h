// What runs next: a policy object that the engine asks, and two policies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/request.h"

namespace reprise::engine {

// A request in the queue: new, or preempted with what it had generated.
struct WaitingRequest {
  RequestId id = 0;
  int64_t arrival_ns = 0;
  int64_t submission = 0;  // 0, 1, 2, ... in the order of submit()
  int32_t priority = 0;
  int32_t tokens = 0;
};

// A sequence that holds cache.
struct RunningSequence {
  RequestId id = 0;
  int64_t arrival_ns = 0;
  int64_t submission = 0;
  int32_t priority = 0;
  int32_t prompt_tokens = 0;
  int32_t computed = 0;      // leading tokens in the cache
  int32_t pending = 0;       // tokens to compute before the next one can be drawn, at least 1
  bool is_decoding = false;  // it has drawn one since it was admitted
  int32_t blocks = 0;        // that hold its tokens, shared ones included; filled in for victim()
};

struct StepView {
  std::span<const RunningSequence> running;  // in the order of admission
  int32_t step_tokens = 0;                   // prefill budget: tokens of a step
  int32_t free_blocks = 0, num_blocks = 0;   // of the pool
};

// Knows requests, tokens and blocks, no method by name. The engine keeps to what it decides as far
// as blocks allow, and never lets a policy take more sequences than the batch holds.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Order of the queue: whether `a` is admitted before `b`. A strict weak order.
  [[nodiscard]] virtual bool comes_before(const WaitingRequest& a,
                                          const WaitingRequest& b) const = 0;
  // Whether the head of the queue joins now, if the method finds room for it. It must where nobody
  // runs.
  [[nodiscard]] virtual bool admits(const WaitingRequest& head, const StepView& view) = 0;
  // Rows of this step for each running sequence, at most its pending tokens; some get one at least.
  virtual void share(const StepView& view, std::span<int32_t> rows) = 0;
  // Index in view.running, which has two at least, of the sequence that gives back its cache and
  // computes it again later. Must spare one that the others do not wait for, so that it ends.
  [[nodiscard]] virtual size_t victim(const StepView& view) = 0;
};

// Highest priority first, among equals first come, first served; whoever must give way is the
// lowest priority's latest.
class FirstComeScheduler : public Scheduler {
 public:
  [[nodiscard]] bool comes_before(const WaitingRequest& a, const WaitingRequest& b) const override;
  [[nodiscard]] bool admits(const WaitingRequest& head, const StepView& view) override;
  // Prompts and generated tokens in one step: a row for each sequence that decodes, then prompts in
  // the order of admission, as many rows as these leave of the prefill budget, at least one.
  void share(const StepView& view, std::span<int32_t> rows) override;
  [[nodiscard]] size_t victim(const StepView& view) override;
};

// The same with steps of prompts alone while there are any, then steps in which all decode:
// latencies of the two phases measured apart.
class PrefillFirstScheduler final : public FirstComeScheduler {
 public:
  void share(const StepView& view, std::span<int32_t> rows) override;
};

// "first_come", "prefill_first".
[[nodiscard]] std::vector<std::string> known_schedulers();
// Throws Error for an unknown name, with the nearest known one.
[[nodiscard]] std::shared_ptr<Scheduler> make_scheduler(const std::string& name);

}  // namespace reprise::engine
