// Runs a decoder over token lists: logits of every row, greedy continuations, in chunks of any
// size.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/kv/block_pool.h"
#include "core/model/network/decoder.h"
#include "core/reuse/plan_builder.h"
#include "methods/registry.h"
#include "nlohmann/json.hpp"

namespace reprise::testing {

// Logits [tokens, vocab] of every token, computed in chunks of `chunk` tokens over one contiguous
// cache.
inline std::vector<float> all_logits(model::Decoder& decoder, std::span<const int32_t> ids,
                                     int32_t chunk, DType kv_dtype = DType::kF32,
                                     std::vector<int32_t> positions = {}) {
  const model::ModelConfig& config = decoder.config();
  const auto tokens = static_cast<int32_t>(ids.size());
  kv::BlockPool pool({.layers = config.layers,
                      .kv_heads = config.kv_heads,
                      .head_dim = config.head_dim,
                      .dtype = kv_dtype,
                      .block_tokens = tokens,
                      .num_blocks = 1});
  if (positions.empty())
    for (int32_t i = 0; i < tokens; ++i) positions.push_back(i);
  std::vector<float> logits(static_cast<size_t>(tokens * config.vocab));
  kv::AttentionPlan plan;
  for (int32_t first = 0; first < tokens; first += chunk) {
    const int32_t rows = std::min(chunk, tokens - first);
    plan.begin(pool.view());
    const reuse::StepSequence part{
        .id = 0, .first_row = 0, .rows = rows, .first_token = first, .positions = positions};
    reuse::append_rows(part, plan, [&](int32_t token) { return pool.offset_of(0, token); });
    reuse::append_contiguous_reads(part, pool.offset_of(0), plan);
    plan.finish();
    std::vector<int32_t> wanted;
    for (int32_t row = 0; row < rows; ++row) wanted.push_back(row);
    decoder.forward(ids.subspan(static_cast<size_t>(first), static_cast<size_t>(rows)), plan,
                    wanted, logits.data() + first * config.vocab);
  }
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
       .prefill_chunk = prefill_chunk});
  engine.submit({.id = 1, .prompt = prompt, .max_new_tokens = new_tokens});
  std::vector<int32_t> tokens;
  for (const engine::TokenEvent& event : engine.run()) tokens.push_back(event.token);
  return tokens;
}

}  // namespace reprise::testing
