// What runs next: a policy object that the engine asks, and the policies.
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
  int32_t cached_tokens = 0;  // of them that the cache had when it was queued, if the rules ask
};

// What a policy wants of the queue beside its order. Rules hold among requests of the highest
// priority that waits.
struct QueueRules {
  // Who has waited for so long since its arrival comes first, the oldest before all others.
  int64_t most_wait_ns = kNever;
  // Else the oldest of those that share the longest prefix with a sequence that runs or with the
  // one that joined last, found by the tokens of the prompts at 16, 32, 48, 64, 96, 128, ... of
  // them.
  bool follows_prefixes = false;
  // WaitingRequest::cached_tokens is filled in, which costs a search of the cache for each request.
  bool counts_cached = false;
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
  // Asked once, before the first request.
  [[nodiscard]] virtual QueueRules rules() const { return {}; }
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

// The fewest tokens to compute first: mean latency falls where prompts differ, and who has waited
// for most_wait_ns is not passed any more.
class ShortestPromptScheduler final : public FirstComeScheduler {
 public:
  explicit ShortestPromptScheduler(int64_t most_wait_ns) : most_wait_ns_(most_wait_ns) {}
  [[nodiscard]] bool comes_before(const WaitingRequest& a, const WaitingRequest& b) const override;
  [[nodiscard]] QueueRules rules() const override {
    return {.most_wait_ns = most_wait_ns_, .counts_cached = true};
  }

 private:
  int64_t most_wait_ns_;
};

// Requests that share a prefix run together, so that methods that read it once have more to read it
// for, and those that keep it find it. First come, first served where nobody shares any, and for
// who has waited for most_wait_ns.
class PrefixAffineScheduler final : public FirstComeScheduler {
 public:
  explicit PrefixAffineScheduler(int64_t most_wait_ns) : most_wait_ns_(most_wait_ns) {}
  [[nodiscard]] QueueRules rules() const override {
    return {.most_wait_ns = most_wait_ns_, .follows_prefixes = true};
  }

 private:
  int64_t most_wait_ns_;
};

struct SchedulerOptions {
  // Of policies that let a request be passed by others: who has waited for so long comes first. 0:
  // all policies are first come, first served.
  double most_wait_s = 10;
};

// "first_come", "prefill_first", "shortest_prompt", "prefix_affine".
[[nodiscard]] std::vector<std::string> known_schedulers();
// Throws Error for an unknown name, with the nearest known one, and for a bound that is below 0 or
// no number.
[[nodiscard]] std::shared_ptr<Scheduler> make_scheduler(const std::string& name,
                                                        const SchedulerOptions& options = {});

}  // namespace reprise::engine
