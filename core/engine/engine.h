// Continuous batching over one decoder and one method: requests in, tokens with their times out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/engine/named_prefixes.h"
#include "core/engine/preemption.h"
#include "core/engine/request.h"
#include "core/engine/scheduler.h"
#include "core/engine/step_executor.h"
#include "core/model/network/decoder.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/reuse_method.h"

namespace reprise::engine {

struct EngineOptions {
  reuse::EngineLimits limits;
  DType kv_dtype = DType::kF32;
  int32_t step_tokens = 512;  // prefill budget: tokens of a step, as the scheduler shares them
  // Blocks of the pool. 0: as many as the method needs for the limits; nobody is ever preempted
  // then.
  int32_t num_blocks = 0;
  // Most that the blocks may take together; 0: whatever their number comes to. With a budget and no
  // num_blocks the pool has as many as fit, also where the method needs fewer: it may keep more.
  int64_t kv_budget_bytes = 0;
  // Share of a smaller pool that admissions leave free while others run, for these to grow into:
  // the larger, the fewer preemptions.
  double watermark_ratio = 0.01;
  std::shared_ptr<Scheduler> scheduler = {};  // empty: FirstComeScheduler
  // Append to every plan, after the method and in this order.
  std::vector<std::shared_ptr<reuse::PlanContributor>> contributors = {};
  // Chooses what each layer of every step does; empty: all compute. It holds for the engine's life,
  // so that no step reads keys that an earlier one left out.
  std::shared_ptr<model::LayerPolicy> policy = {};
  SwapOptions swap = {};                   // of sequences that give back their blocks for others
  std::function<int64_t()> clock_ns = {};  // empty: the steady clock
};

struct StepReport {
  int64_t start_ns = 0, end_ns = 0;
  int32_t prefill_tokens = 0;   // rows computed for prompts, and again after preemptions
  int32_t decode_tokens = 0;    // rows computed for generated tokens
  int32_t preempted = 0;        // sequences that gave back their cache for others
  int32_t restored_tokens = 0;  // of preempted sequences: written back instead of computed
  int32_t batch = 0;            // sequences that hold cache once it is composed
  int32_t waiting = 0;          // requests that it leaves in the queue
  // At its end; what the method keeps for requests to come is in use as well.
  int32_t used_blocks = 0;
  int64_t kv_bytes = 0;       // of used_blocks, all layers
  int64_t peak_kv_bytes = 0;  // before those that end with it give theirs back
  // Tokens that decoding sequences did not read because a work item read them for several of them
  // at once: the sum over items of tokens * (decoding sequences - 1).
  int64_t shared_tokens = 0;
  // Tokens read for decoding sequences by several items, but for the first of them.
  int64_t repeated_tokens = 0;
  // What it took beside computing and observing, in real time whatever the clock: queue, admission,
  // composition, plan and events; and copying states of preempted sequences.
  int64_t scheduling_ns = 0, swapping_ns = 0;
  std::vector<TokenEvent> events;
};

// Sees the rows that Request::logits asks for, those of one request in the order of its tokens,
// each once.
using LogitsObserver = std::function<void(const LogitsRow&)>;

class Engine {
 public:
  // `decoder` must outlive the engine. Throws Error when the cache does not fit into memory, or one
  // sequence of the limits not into the budget, with the bytes that it takes.
  Engine(const Context& context, model::Decoder& decoder,
         std::unique_ptr<reuse::ReuseMethod> method, const EngineOptions& options);
  // The same with something else in the network's place; EngineOptions::policy is the network's,
  // and has no effect.
  Engine(const Context& context, std::unique_ptr<StepExecutor> executor,
         std::unique_ptr<reuse::ReuseMethod> method, const EngineOptions& options);
  ~Engine();

  // Queues a request. One that can never run (empty or too long prompt, an id outside the
  // vocabulary, ...) is refused by an event of the next step. Throws Error for a request id in use,
  // and for one below 0.
  void submit(Request request);
  // Ends a request wherever it stands; it gives back its cache, and the next step tells of it.
  // False where there is no such request (any more). From within an observer: at the end of the
  // step.
  bool cancel(RequestId id);

  // Announces a prefix that many requests will start with, at any time. A method that keeps such
  // prefixes (RelayAttention) has it computed in the steps to come, as a request that generates
  // nothing; requests that come before it is ready are served as the method decides. For other
  // methods it is a name and nothing happens. Throws Error for a name in use and for tokens that
  // submit() would refuse. One that does not fit into the cache is refused by an event with a
  // request id below 0, and its names are free again.
  void declare_prefix(const std::string& name, std::vector<int32_t> tokens);
  // Forgets a prefix, ready or not; what running requests share of it goes with the last of them.
  // Throws Error for an unknown name.
  void drop_prefix(const std::string& name);
  [[nodiscard]] std::vector<PrefixInfo> prefixes() const;  // by name

  // Shows logits from now on, once all tokens of a step are drawn and before any sequence moves on.
  // A step whose observer throws fails like one with NaN, and shows its rows again. An empty
  // function, as at first: nobody looks, at no cost.
  void observe_logits(LogitsObserver observer);
  // Admits what the scheduler wants and the cache holds, then runs one step as it shares the rows.
  // Where blocks are missing, sequences are preempted: they wait at their place in the queue and
  // compute again what they had, but for what EngineOptions::swap kept; the tokens stay the same
  // but for models whose rotary angles depend on the length of all that is computed at once. Throws
  // Error for logits that are NaN and where the decoder does; the engine stands as before the step
  // and may go on.
  StepReport step();
  // Requests wait or run, or their end has not been told.
  [[nodiscard]] bool has_work() const;
  // Runs until no request is left; returns every event in order.
  std::vector<TokenEvent> run();

  [[nodiscard]] const kv::BlockPool& pool() const;
  [[nodiscard]] const SwapStats& swap_stats() const;
  [[nodiscard]] reuse::ReuseMethod& method();
  [[nodiscard]] const EngineOptions& options() const;
  // By the engine's clock: what arrivals and deadlines are compared with.
  [[nodiscard]] int64_t now_ns() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::engine
