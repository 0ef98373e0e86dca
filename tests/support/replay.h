// Replays a trace through an engine whose steps take modelled time. Requests are drawn as they
// arrive, and none is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "methods/registry.h"
#include "tests/support/json.h"

namespace reprise::testing {

// The shape of a small model. It is never computed.
inline model::ModelConfig replay_config() {
  model::ModelConfig config;
  config.name = "step-time model";
  config.vocab = 32000;
  config.layers = 22;
  config.heads = 32;
  config.kv_heads = 4;
  config.head_dim = 64;
  return config;
}

// A trace of Poisson arrivals. Each prompt begins with one of a few common heads and goes on with
// tokens of its own.
struct ReplayTrace {
  int64_t requests = 0;
  double rate_rps = 1;
  uint64_t seed = 1;
  int32_t heads = 20, head_tokens = 128;
  int32_t most_own_tokens = 64, most_new_tokens = 16;

  [[nodiscard]] double unit(int64_t id, uint64_t what) const {
    return random_unit(seed, static_cast<uint64_t>(id), what);
  }
  [[nodiscard]] int64_t gap_ns(int64_t id) const {
    return std::llround(-std::log(1 - unit(id, 0)) / rate_rps * 1e9);
  }
  [[nodiscard]] engine::Request request(int64_t id, int64_t arrival_ns) const {
    const auto below = [&](uint64_t what, int32_t end) {
      return static_cast<int32_t>(unit(id, what) * end);
    };
    const auto head = static_cast<uint64_t>(below(1, heads));
    engine::Request request{
        .id = id, .max_new_tokens = 1 + below(2, most_new_tokens), .arrival_ns = arrival_ns};
    const int32_t own = 1 + below(3, most_own_tokens);
    request.prompt.reserve(static_cast<size_t>(head_tokens + own));
    for (int32_t i = 0; i < head_tokens; ++i)
      request.prompt.push_back(
          static_cast<int32_t>(random_bits(seed, ~head, static_cast<uint64_t>(i)) % 32000));
    for (int32_t i = 0; i < own; ++i)
      request.prompt.push_back(static_cast<int32_t>(
          random_bits(seed, static_cast<uint64_t>(id), static_cast<uint64_t>(100 + i)) % 32000));
    return request;
  }
};

struct ReplayCount {
  int64_t served = 0, tokens = 0, steps = 0, rows = 0, preempted = 0, cached_tokens = 0;
  int64_t most_waiting = 0, scheduling_ns = 0;
};

inline ReplayCount replay(engine::Engine& engine, engine::VirtualClock& clock,
                          const ReplayTrace& trace) {
  ReplayCount count;
  int64_t next = 0, arrival_ns = clock.now_ns() + trace.gap_ns(0);
  while (next < trace.requests || engine.has_work()) {
    for (; next < trace.requests && arrival_ns <= clock.now_ns(); arrival_ns += trace.gap_ns(next))
      engine.submit(trace.request(next++, arrival_ns));
    if (!engine.has_work()) {
      clock.advance_to(arrival_ns);
      continue;
    }
    const engine::StepReport report = engine.step();
    ++count.steps;
    count.rows += report.prefill_tokens + report.decode_tokens;
    count.preempted += report.preempted;
    count.scheduling_ns += report.scheduling_ns;
    count.most_waiting = std::max<int64_t>(count.most_waiting, report.waiting);
    for (const engine::TokenEvent& event : report.events) {
      count.tokens += event.has_token();
      count.served += event.finish == engine::FinishReason::kLength;
      count.cached_tokens += event.cached_tokens;
    }
  }
  return count;
}

// Options of an engine that serves such a trace; the clock is the engine's.
inline engine::EngineOptions replay_options(const ReplayTrace& trace,
                                            std::shared_ptr<engine::VirtualClock> clock,
                                            const std::string& policy = "first_come") {
  engine::EngineOptions options{.step_tokens = 512, .scheduler = engine::make_scheduler(policy)};
  options.limits = {
      .max_batch = 64,
      .max_sequence_tokens = trace.head_tokens + trace.most_own_tokens + trace.most_new_tokens};
  options.clock_ns = [clock = std::move(clock)] { return clock->now_ns(); };
  return options;
}

// An engine with a method that finds and retains prefixes, and a modelled server of some 1,400
// requests a second.
inline engine::Engine replay_engine(const ReplayTrace& trace,
                                    const std::shared_ptr<engine::VirtualClock>& clock,
                                    const std::string& policy) {
  return {{.threads = 1},
          std::make_unique<engine::StepTimeModel>(
              replay_config(),
              engine::StepTimes{.step_s = 2e-3, .row_s = 8e-6, .context_token_s = 1e-7}, clock),
          methods::make_cache("chunk_attention",
                              Json::parse(R"({"reuse_prefill": true, "retain": true})")),
          replay_options(trace, clock, policy)};
}

}  // namespace reprise::testing
