// Runs prompts with or without imported states: generates answers greedily, or computes the logits
// of a given answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/engine/engine.h"
#include "methods/prompt_cache/prompt_cache.h"

namespace reprise::experiments {

struct RunnerOptions {
  DType kv_dtype = DType::kF32;
  int32_t step_tokens = 512;        // tokens computed in one step
  int32_t max_sequence_tokens = 0;  // most tokens of a prompt and its answer
  std::vector<int32_t> stop_ids;
};

struct Generated {
  std::vector<int32_t> tokens;
  double first_token_ms = 0;  // from submitting the prepared request to its first token
};

// Runs one request after another on the contiguous cache.
class PromptRunner {
 public:
  // `decoder` must outlive this object. Throws Error if the cache does not fit into memory.
  PromptRunner(const Context& context, model::Decoder& decoder, const RunnerOptions& options);

  // Generates greedily until there are `most` tokens, a stop id, or a token for which `is_last` is
  // true. The last token is included. `rules` may be null.
  Generated generate(const prompt_cache::PreparedPrompt& prompt, int64_t most,
                     std::shared_ptr<const engine::TokenRules> rules,
                     const std::function<bool(int32_t token)>& is_last);

  // Returns logits [tokens, vocab] if the prompt is continued with `tokens`: row i has the logits
  // from which tokens[i] would be sampled. `tokens` must not be empty.
  std::vector<float> forced(const prompt_cache::PreparedPrompt& prompt,
                            std::span<const int32_t> tokens);

 private:
  engine::Request request(const prompt_cache::PreparedPrompt& prompt, int64_t most);

  std::shared_ptr<prompt_cache::ModuleImports> imports_;
  std::vector<int32_t> stop_ids_;
  engine::Engine engine_;
  engine::RequestId next_id_ = 0;
};

}  // namespace reprise::experiments
