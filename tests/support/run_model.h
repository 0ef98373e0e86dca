// Runs a decoder over token lists: logits of every row, greedy continuations, in chunks of any
// size.
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
#include "nlohmann/json.hpp"

namespace reprise::testing {

// One sequence over a contiguous cache of its own, for steps written by hand.
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

  // The step that computes tokens [first, first + rows): ids and plan, valid until the next call.
  model::StepInput step(int32_t first, int32_t rows) {
    plan_.clear();
    plan_.cache = pool_.view();
    const reuse::StepSequence part{
        .id = 0, .first_row = 0, .rows = rows, .first_token = first, .positions = positions_};
    reuse::append_rows(part, plan_, [&](int32_t token) { return pool_.offset_of(0, token); });
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

// 0, 1, ..., count - 1.
inline std::vector<int32_t> counted(int32_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Logits [tokens, vocab] of every token, computed in chunks of `chunk` tokens over one contiguous
// cache.
inline std::vector<float> all_logits(model::Decoder& decoder, std::span<const int32_t> ids,
                                     int32_t chunk, DType kv_dtype = DType::kF32,
                                     std::vector<int32_t> positions = {}) {
  const model::ModelConfig& config = decoder.config();
  const auto tokens = static_cast<int32_t>(ids.size());
  OneSequence sequence(config, ids, kv_dtype, std::move(positions));
  std::vector<float> logits(static_cast<size_t>(tokens * config.vocab));
  for (int32_t first = 0; first < tokens; first += chunk) {
    const int32_t rows = std::min(chunk, tokens - first);
    model::StepInput step = sequence.step(first, rows);
    const std::vector<int32_t> wanted = counted(rows);
    step.logit_rows = wanted;
    decoder.forward(
        step, {.logits = std::span(logits).subspan(static_cast<size_t>(first * config.vocab),
                                                   static_cast<size_t>(rows * config.vocab))});
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
