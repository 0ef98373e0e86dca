// Runs a decoder over token lists: logits of every row, greedy continuations, in chunks of any
// size.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/network/decoder.h"
#include "methods/registry.h"
#include "nlohmann/json.hpp"

namespace reprise::testing {

// Logits [tokens, vocab] of every token, computed in chunks of `chunk` tokens over a method's
// cache.
inline std::vector<float> all_logits(model::Decoder& decoder, std::span<const int32_t> ids,
                                     int32_t chunk, DType kv_dtype = DType::kF32,
                                     std::vector<int32_t> positions = {},
                                     const std::string& method = "contiguous") {
  engine::Engine engine(Context::machine(), decoder, methods::make_method(method, {}),
                        {.limits = {.max_sequence_tokens = static_cast<int32_t>(ids.size())},
                         .kv_dtype = kv_dtype,
                         .step_tokens = chunk});
  std::vector<float> logits;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    logits.insert(logits.end(), row.logits.begin(), row.logits.end());
  });
  engine.submit({.id = 1,
                 .prompt = {ids.begin(), ids.end()},
                 .positions = std::move(positions),
                 .max_new_tokens = 0,
                 .logits = engine::LogitsMode::kAll});
  engine::require_served(engine.run());
  return logits;
}

// Names of the methods that must all generate the same.
inline std::vector<std::string> exact_methods() {
  std::vector<std::string> names;
  for (const reuse::MethodInfo& info : methods::known_methods())
    if (info.exactness == reuse::Exactness::kExact) names.push_back(info.name);
  return names;
}

// Greedy continuation through the engine with a method by name.
inline std::vector<int32_t> generate(model::Decoder& decoder, const std::vector<int32_t>& prompt,
                                     int32_t new_tokens, const std::string& method,
                                     int32_t prefill_chunk, const Context& context,
                                     DType kv_dtype = DType::kF32) {
  engine::Engine engine(
      context, decoder, methods::make_method(method, {}),
      {.limits = {.max_batch = 1,
                  .max_sequence_tokens = static_cast<int32_t>(prompt.size()) + new_tokens},
       .kv_dtype = kv_dtype,
       .step_tokens = prefill_chunk});
  engine.submit({.id = 1, .prompt = prompt, .max_new_tokens = new_tokens});
  std::vector<int32_t> tokens;
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  for (const engine::TokenEvent& event : events) tokens.push_back(event.token);
  return tokens;
}

}  // namespace reprise::testing
