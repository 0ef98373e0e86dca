// Continuous batching over one decoder and one method: requests in, tokens with their times out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/engine/request.h"
#include "core/model/network/decoder.h"
#include "core/reuse/reuse_method.h"

namespace reprise::engine {

struct EngineOptions {
  reuse::EngineLimits limits;
  DType kv_dtype = DType::kF32;
  int32_t prefill_chunk = 512;             // most prompt tokens in one step
  std::function<int64_t()> clock_ns = {};  // empty: the steady clock
};

struct StepReport {
  int64_t start_ns = 0, end_ns = 0;
  int32_t prefill_tokens = 0;  // rows computed for prompts
  int32_t decode_tokens = 0;   // rows computed for generated tokens
  std::vector<TokenEvent> events;
};

// Sees the logits that a token is drawn from: the request, the index of the token (0: the first
// generated one) and [vocab] f32 values, which stay the engine's and are valid during the call
// alone.
using LogitsObserver =
    std::function<void(RequestId request, int32_t index, std::span<const float> logits)>;

class Engine {
 public:
  // `decoder` must outlive the engine. Throws Error when the cache does not fit into memory.
  Engine(const Context& context, model::Decoder& decoder,
         std::unique_ptr<reuse::ReuseMethod> method, const EngineOptions& options);
  ~Engine();

  // Queues a request. Throws Error if it can never run (empty or too long prompt, an id outside the
  // vocabulary, a request id in use, ...).
  void submit(Request request);
  // Announces a prefix that many requests will start with. A method that keeps such prefixes apart
  // (RelayAttention) has it computed here and now; for the others nothing happens. Throws Error
  // while requests are waiting or running, and where submit would.
  void declare_prefix(std::vector<int32_t> tokens);
  // Shows the logits of every token from now on, those of declared prefixes (ids below 0) among
  // them, once all tokens of a step are drawn and before any sequence moves on. A step whose
  // observer throws fails like one with NaN. An empty function, as at first: nobody looks, at no
  // cost.
  void observe_logits(LogitsObserver observer);
  // Admits what fits, then runs one step: prompts first, at most a chunk of their tokens, or else
  // one token of every sequence. Throws Error for a request that can never be admitted, which then
  // leaves the queue, and for logits that are NaN; the engine stands as before the step and may go
  // on.
  StepReport step();
  [[nodiscard]] bool has_work() const;
  // Runs until no request is left; returns every event in order.
  std::vector<TokenEvent> run();

  [[nodiscard]] const kv::BlockPool& pool() const;
  [[nodiscard]] reuse::ReuseMethod& method();
  [[nodiscard]] const EngineOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::engine
