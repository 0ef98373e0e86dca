// Runs a decoder over token lists: logits of every row, and greedy continuations, with prefill in
// chunks of any size.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/kv/block_pool.h"
#include "core/model/network/decoder.h"
#include "core/reuse/plan_builder.h"
#include "methods/registry.h"
#include "tests/support/json.h"

namespace reprise::testing {

// One sequence with a contiguous cache of its own, for steps written by hand.
class OneSequence {
 public:
  OneSequence(const model::ModelConfig& config, std::span<const int32_t> ids,
              DType kv_dtype = DType::kF32, std::vector<int32_t> positions = {})
      : ids_(ids),
        positions_(std::move(positions)),
        pool_({.layers = config.layers,
               .kv_heads = config.kv_heads,
               .head_dim = config.head_dim,
               .dtype = kv_dtype,
               .block_tokens = static_cast<int32_t>(ids.size()),
               .num_blocks = 1}) {
    if (positions_.empty())
      for (int32_t i = 0; i < static_cast<int32_t>(ids.size()); ++i) positions_.push_back(i);
  }

  // The step that computes tokens [first, first + rows). Its ids and plan are valid until the next
  // call.
  model::StepInput step(int32_t first, int32_t rows) {
    plan_.begin(pool_.view());
    const reuse::StepSequence part{
        .id = 0,
        .first_row = 0,
        .rows = rows,
        .first_token = first,
        .positions = positions_,
        .length = *std::max_element(positions_.begin(), positions_.end()) + 1};
    reuse::append_rows(part, plan_);
    for (int32_t row = 0; row < rows; ++row)
      plan_.row_slots[static_cast<size_t>(row)] = pool_.offset_of(0, first + row);
    reuse::append_contiguous_reads(part, pool_.offset_of(0), plan_);
    plan_.finish();
    return {.ids = ids_.subspan(static_cast<size_t>(first), static_cast<size_t>(rows)),
            .plan = plan_};
  }

 private:
  std::span<const int32_t> ids_;
  std::vector<int32_t> positions_;
  kv::BlockPool pool_;
  kv::AttentionPlan plan_;
};

// The numbers from 0 to count - 1.
inline std::vector<int32_t> counted(int32_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Logits [tokens, vocab] of every token, computed in chunks of `chunk` tokens over a method's
// cache.
inline std::vector<float> all_logits(model::Decoder& decoder, std::span<const int32_t> ids,
                                     int32_t chunk, DType kv_dtype = DType::kF32,
                                     std::vector<int32_t> positions = {},
                                     const std::string& method = "contiguous") {
  engine::Engine engine(Context::machine(), decoder, methods::make_cache(method, {}),
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

// Names of the methods that consist of a cache alone.
inline std::vector<std::string> cache_methods() {
  std::vector<std::string> names;
  for (const methods::MethodEntry& entry : methods::known_methods())
    if (entry.info.is_cache) names.push_back(entry.info.name);
  return names;
}

// Names of the methods that must all generate the same tokens.
inline std::vector<std::string> exact_methods() {
  std::vector<std::string> names = cache_methods();
  std::erase_if(names, [](const std::string& name) {
    return methods::method_named(name).info.exactness != methods::Exactness::kExact;
  });
  return names;
}

// Greedy continuation of a prompt by the engine with the method of this name.
inline std::vector<int32_t> generate(model::Decoder& decoder, const std::vector<int32_t>& prompt,
                                     int32_t new_tokens, const std::string& method,
                                     int32_t prefill_chunk, const Context& context,
                                     DType kv_dtype = DType::kF32) {
  engine::Engine engine(
      context, decoder, methods::make_cache(method, {}),
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
