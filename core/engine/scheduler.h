// Scheduling policies: they decide which requests join the batch and what each step computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/request.h"

namespace reprise::engine {

// A request in the queue: new, or preempted together with its generated tokens.
struct WaitingRequest {
  RequestId id = 0;
  int64_t arrival_ns = 0;
  int64_t submission = 0;  // 0, 1, 2, ... in the order of submit()
  int32_t priority = 0;
  int32_t tokens = 0;
  // Tokens found in the cache when the request was queued. Only set if QueueRules::counts_cached is
  // true.
  int32_t cached_tokens = 0;
};

// Extra rules of a policy's queue. They apply among the waiting requests of the highest priority.
struct QueueRules {
  // A request that has waited this long since its arrival comes first. If several have, the oldest
  // comes first.
  int64_t most_wait_ns = kNever;
  // Applies if no request has waited that long. The request that shares the longest prefix with a
  // running sequence, or with the sequence that joined last, comes first (PrefixGroups::next()),
  // unless another request has a higher priority. Prefixes are compared at 16, 32, 48, 64, 96, 128,
  // ... tokens.
  bool follows_prefixes = false;
  // Fills in WaitingRequest::cached_tokens. This costs one search of the cache per request.
  bool counts_cached = false;
};

// A sequence that holds cache.
struct RunningSequence {
  RequestId id = 0;
  int64_t arrival_ns = 0;
  int64_t submission = 0;
  int32_t priority = 0;
  int32_t prompt_tokens = 0;
  int32_t computed = 0;  // leading tokens in the cache
  int32_t pending = 0;   // tokens to compute before the next token can be drawn; >= 1
  // True if it has generated a token since its admission, or lacked only its last generated token
  // when it was admitted again.
  bool is_decoding = false;
  // Blocks that hold its tokens, shared ones included. Only set in calls of victim().
  int32_t blocks = 0;
};

struct StepView {
  std::span<const RunningSequence> running;  // in the order of admission
  int32_t step_tokens = 0;                   // prefill budget: tokens per step
  int32_t free_blocks = 0, num_blocks = 0;   // blocks of the pool
};

// A scheduling policy. It sees requests, tokens and blocks, but not the method. The engine follows
// the policy's decisions as far as blocks allow, and never exceeds the largest batch.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // True if `a` is admitted before `b`. Must be a strict weak order.
  [[nodiscard]] virtual bool comes_before(const WaitingRequest& a,
                                          const WaitingRequest& b) const = 0;
  // Asked once, before the first request.
  [[nodiscard]] virtual QueueRules rules() const { return {}; }
  // True if `head`, the head of the queue, joins now, provided that the method has room for it.
  // Must be true if no sequence runs.
  [[nodiscard]] virtual bool admits(const WaitingRequest& head, const StepView& view) = 0;
  // Sets rows[i], the number of rows that this step computes for view.running[i]. It is at most the
  // sequence's number of pending tokens. At least one sequence must get rows.
  virtual void share(const StepView& view, std::span<int32_t> rows) = 0;
  // Returns the index in view.running of the sequence to preempt. At least two sequences run. So
  // that the engine makes progress, the policy must spare one particular sequence until it ends.
  [[nodiscard]] virtual size_t victim(const StepView& view) = 0;
};

// Highest priority first; at equal priority first come, first served. The victim is the sequence
// admitted last among those of the lowest priority.
class FirstComeScheduler : public Scheduler {
 public:
  [[nodiscard]] bool comes_before(const WaitingRequest& a, const WaitingRequest& b) const override;
  [[nodiscard]] bool admits(const WaitingRequest& head, const StepView& view) override;
  // Mixes prefill and decoding in one step. Each decoding sequence gets one row. Prompts get the
  // rest of the prefill budget, at least one row, in the order of admission.
  void share(const StepView& view, std::span<int32_t> rows) override;
  [[nodiscard]] size_t victim(const StepView& view) override;
};

// Like FirstComeScheduler, but a step holds only prompts as long as any are pending, otherwise only
// decoding sequences. So the latencies of the two phases are measured separately.
class PrefillFirstScheduler final : public FirstComeScheduler {
 public:
  void share(const StepView& view, std::span<int32_t> rows) override;
};

// Admits the request with the fewest tokens to compute first. This lowers the mean latency if
// prompts differ in length. No request overtakes another that has waited for most_wait_ns.
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

// Runs requests that share a prefix at the same time, so that methods more often find the prefix in
// the cache or read it once for several sequences. Requests without a shared prefix, and requests
// that have waited for most_wait_ns, are served first come, first served.
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
  // For policies that let requests overtake others: a request that has waited this long comes
  // first. 0: every policy is first come, first served.
  double most_wait_s = 10;
};

// "first_come", "prefill_first", "shortest_prompt", "prefix_affine".
[[nodiscard]] std::vector<std::string> known_schedulers();
// Throws Error for an unknown name, with the nearest known one, and for a most_wait_s that is
// negative or NaN.
[[nodiscard]] std::shared_ptr<Scheduler> make_scheduler(const std::string& name,
                                                        const SchedulerOptions& options = {});

}  // namespace reprise::engine
