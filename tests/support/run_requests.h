// Runs several requests through an engine; each joins at a given step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "methods/registry.h"
#include "tests/support/json.h"

namespace reprise::testing {

struct Arrival {
  int32_t step = 0;  // submitted before this step
  engine::Request request;
};

struct MethodUnderTest {
  std::string name;
  Json options = Json::object();

  [[nodiscard]] std::string label() const { return name + " " + options.dump(); }
};

struct BatchRun {
  std::map<reuse::RequestId, std::vector<int32_t>> tokens;
  std::map<std::string, double> metrics;
  int32_t used_blocks = 0;  // blocks in use after all requests have ended
  int64_t peak_bytes = 0;
  int32_t preempted = 0;  // sequences that gave back their cache, summed over steps
};

inline engine::Engine make_engine(model::Decoder& decoder, const MethodUnderTest& method,
                                  const std::vector<Arrival>& arrivals, int32_t max_batch,
                                  int32_t prefill_chunk, const Context& context, DType kv_dtype,
                                  const std::vector<std::vector<int32_t>>& prefixes = {}) {
  engine::EngineOptions options{.kv_dtype = kv_dtype, .step_tokens = prefill_chunk};
  options.limits.max_batch = max_batch;
  for (const Arrival& arrival : arrivals)
    options.limits.max_sequence_tokens = std::max(
        options.limits.max_sequence_tokens,
        static_cast<int32_t>(arrival.request.prompt.size()) + arrival.request.max_new_tokens);
  for (const std::vector<int32_t>& prefix : prefixes)
    options.limits.prefix_tokens += static_cast<int32_t>(prefix.size());
  options.limits.prefixes = std::max(1, static_cast<int32_t>(prefixes.size()));
  return {context, decoder, methods::make_cache(method.name, method.options), options};
}

// Declares the prefixes, then runs until every request is done. `arrivals` is sorted by step.
inline BatchRun run_requests(engine::Engine& engine, const std::vector<Arrival>& arrivals,
                             const std::vector<std::vector<int32_t>>& prefixes = {}) {
  BatchRun run;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    engine.declare_prefix("prefix " + std::to_string(i), prefixes[i]);
    engine::require_served(engine.run());
  }
  size_t next = 0;
  for (int32_t step = 0; next < arrivals.size() || engine.has_work(); ++step) {
    while (next < arrivals.size() && arrivals[next].step <= step)
      engine.submit(arrivals[next++].request);
    const engine::StepReport report = engine.step();
    engine::require_served(report.events);
    run.preempted += report.preempted;
    for (const engine::TokenEvent& event : report.events)
      run.tokens[event.request].push_back(event.token);
  }
  engine.cache().report([&](std::string_view name, double value, std::string_view) {
    run.metrics[std::string(name)] = value;
  });
  run.used_blocks = engine.pool().used_blocks();
  run.peak_bytes = engine.pool().peak_bytes();
  return run;
}

inline BatchRun run_requests(model::Decoder& decoder, const MethodUnderTest& method,
                             const std::vector<Arrival>& arrivals, int32_t max_batch,
                             int32_t prefill_chunk, const Context& context,
                             DType kv_dtype = DType::kF32,
                             const std::vector<std::vector<int32_t>>& prefixes = {}) {
  engine::Engine engine =
      make_engine(decoder, method, arrivals, max_batch, prefill_chunk, context, kv_dtype, prefixes);
  return run_requests(engine, arrivals, prefixes);
}

}  // namespace reprise::testing
