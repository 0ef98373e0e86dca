// Continuous batching with one decoder and one reuse method: takes requests, and returns their
// tokens with the time of each.
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
#include "core/engine/request_shaper.h"
#include "core/engine/scheduler.h"
#include "core/engine/step_executor.h"
#include "core/model/network/decoder.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::engine {

struct EngineOptions {
  reuse::EngineLimits limits;
  DType kv_dtype = DType::kF32;
  // Prefill budget of a step in tokens; the scheduler divides it among the sequences.
  int32_t step_tokens = 512;
  // Number of blocks in the pool. 0: as many as the method needs for `limits`; then no sequence is
  // ever preempted.
  int32_t num_blocks = 0;
  // Upper bound on the bytes of all blocks; 0: no bound. With a budget and num_blocks = 0 the pool
  // has as many blocks as fit into the budget, even if the method needs fewer, since it may keep
  // states in the rest.
  int64_t kv_budget_bytes = 0;
  // Share of the pool's blocks that an admission leaves free while sequences run, so that these can
  // grow. Applies if the pool is smaller than the method's need. A larger share means fewer
  // preemptions.
  double watermark_ratio = 0.01;
  std::shared_ptr<Scheduler> scheduler = {};  // empty: FirstComeScheduler
  // In every plan, the contributors' segments and work items follow the method's, in this order.
  std::vector<std::shared_ptr<reuse::PlanContributor>> contributors = {};
  // Chooses what each layer computes in every step; empty: all layers compute. Fixed for the
  // engine's life. A policy of prefill alone (LayerPolicy::is_of_prefill_alone) needs a cache whose
  // sequences share no states. Otherwise a sequence may read keys that another one left out. The
  // engine does not check this.
  std::shared_ptr<model::LayerPolicy> policy = {};
  // Changes each submitted request; empty: requests stay as they are.
  std::shared_ptr<RequestShaper> shaper = {};
  // How a preempted sequence gets its states back.
  SwapOptions swap = {};
  std::function<int64_t()> clock_ns = {};  // empty: the steady clock
};

struct StepReport {
  int64_t start_ns = 0, end_ns = 0;
  int32_t prefill_tokens = 0;  // rows of prompts, and rows recomputed after preemptions
  // Rows of sequences that have generated a token: one per sequence, or more with a method that
  // keeps no states.
  int32_t decode_tokens = 0;
  // Sequences preempted in this step and in the steps before it that threw.
  int32_t preempted = 0;
  // Tokens of preempted sequences whose states were copied back instead of computed again. Counted
  // like `preempted`.
  int32_t restored_tokens = 0;
  int32_t batch = 0;    // sequences that hold cache in this step
  int32_t waiting = 0;  // requests left in the queue
  // Blocks in use at the end of the step, including those that the method keeps for later requests.
  int32_t used_blocks = 0;
  int64_t kv_bytes = 0;  // bytes of used_blocks, all layers
  // Bytes in use at the end of the step, before the sequences that it finished return their blocks.
  int64_t peak_kv_bytes = 0;
  // Bytes of keys and values that the step's plan reads, all layers. A token counts once for each
  // work item that reads it. Tokens outside the model's sliding window are not read.
  int64_t read_bytes = 0;
  // Token reads saved because one work item reads a token for several decoding sequences: the sum
  // over work items of tokens * (decoding sequences - 1).
  int64_t shared_tokens = 0;
  // Repeated token reads: how often a work item for decoding sequences reads a token that an
  // earlier one of these work items has read.
  int64_t repeated_tokens = 0;
  // Real time that the step spends on scheduling (queue, admission, composition, plan, events) and
  // on swapping (copying states of preempted sequences). Measured by the steady clock, whatever
  // clock the engine uses. Neither includes computing the model or observing logits.
  int64_t scheduling_ns = 0, swapping_ns = 0;
  std::vector<TokenEvent> events;
};

// Receives the rows of logits that Request::logits asks for. Each row comes once; the rows of one
// request come in token order.
using LogitsObserver = std::function<void(const LogitsRow&)>;

class Engine {
 public:
  // `decoder` must outlive the engine. Throws Error, with the bytes needed, if the cache does not
  // fit into memory, or if the longest sequence of the limits does not fit into the budget. Also
  // throws Error if the context is batch-invariant and the cache, the policy or a contributor does
  // not support that.
  Engine(const Context& context, model::Decoder& decoder,
         std::unique_ptr<reuse::SequenceCache> cache, const EngineOptions& options);
  // An engine whose steps `executor` computes instead of a decoder. Ignores EngineOptions::policy.
  // Throws Error as the constructor above does.
  Engine(const Context& context, std::unique_ptr<StepExecutor> executor,
         std::unique_ptr<reuse::SequenceCache> cache, const EngineOptions& options);
  ~Engine();

  // Queues a request. If the request can never run (empty or too long prompt, an id outside the
  // vocabulary, positions that are not consecutive in a batch-invariant engine, ...), an event of
  // the next step refuses it. Throws Error and does not queue the request if its id is in use or
  // negative, or if RequestShaper::shape() throws.
  void submit(Request request);
  // Ends a waiting or running request and returns its cache; the next step reports the end. If an
  // observer calls this during a step, the request ends when that step ends. Returns false if there
  // is no such request.
  bool cancel(RequestId id);

  // Announces a prefix with which many requests will start. A method that keeps prefixes
  // (RelayAttention) computes the prefix in the next steps. Other methods, and engines whose shaper
  // imports prefixes, only record the name. Throws Error for a name in use and for tokens that
  // submit() would refuse. If the prefix does not fit, an event with a negative request id refuses
  // it and its names are free again.
  void declare_prefix(const std::string& name, std::vector<int32_t> tokens);
  // Forgets a prefix, ready or not. Running requests that share it keep it until the last of them
  // ends. Throws Error for an unknown name.
  void drop_prefix(const std::string& name);
  [[nodiscard]] std::vector<PrefixInfo> prefixes() const;  // sorted by name

  // Passes logits to `observer` from now on, after all tokens of a step are drawn and before any
  // sequence advances. If the observer throws, the step changes nothing and a later step passes the
  // rows again. An empty function, the default, costs nothing.
  void observe_logits(LogitsObserver observer);
  // Admits requests and runs one step. If blocks are missing, sequences are preempted and continue
  // later. Preemption may change tokens in two cases only: in near ties, unless the context
  // is_batch_invariant, and if the model's rotary angles depend on a sequence's length. Throws
  // Error for NaN logits and for the decoder's errors; the engine is then as before the step and
  // may go on.
  StepReport step();
  // True while requests wait or run, or while the end of a request has not been reported.
  [[nodiscard]] bool has_work() const;
  // Runs steps until no request is left. Returns all events in order.
  std::vector<TokenEvent> run();

  [[nodiscard]] const kv::BlockPool& pool() const;
  [[nodiscard]] const SwapStats& swap_stats() const;
  [[nodiscard]] reuse::SequenceCache& cache();
  [[nodiscard]] const EngineOptions& options() const;
  // Time of the engine's clock, with which arrivals are compared.
  [[nodiscard]] int64_t now_ns() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::engine
