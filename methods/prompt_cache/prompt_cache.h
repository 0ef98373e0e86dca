// Prepares, for an engine, a prompt that is derived from a schema: finds the states that the prompt
// imports, and the tokens that are left to compute. [Prompt Cache §3.4]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/engine/request.h"
#include "methods/prompt_cache/copy_states.h"
#include "methods/prompt_cache/imports.h"
#include "methods/prompt_cache/module_states.h"

namespace reprise::prompt_cache {

struct PrepareOptions {
  // Share of the imported tokens that Mode::kRepair computes again. CacheBlend uses 15 %.
  double repair_ratio = 0.15;
  bool copies = false;  // gather imported states in one buffer first, as the paper does
  CopyBuffer* copy_buffer = nullptr;  // buffer for the copies; null: one of the prompt's own
};

// Times spent before the first step.
struct PrepareTimes {
  double lookup_s = 0;  // finding states, and laying out the imports
  double encode_s = 0;  // computing missing states
  double copy_s = 0;
  double repair_s = 0;
};

struct PreparedPrompt {
  PlacedTokens fresh;          // tokens to compute, at their positions, in the prompt's order
  std::vector<StateRun> runs;  // imported states that the fresh tokens see
  // Least position at which the answer may begin: the end of the imported tokens. Under
  // pml::Rules::kAsCoded it is 0 unless the model has ALiBi, because the released code computes the
  // answer's position from the number of new tokens alone, without the imported ones.
  int32_t least_length = 0;
  int64_t imported_tokens = 0;
  int64_t repaired_tokens = 0;  // number of imported tokens that were computed again
  int64_t copied_bytes = 0;
  // Keys and values that are held for this prompt alone, because they were copied or computed
  // again.
  int64_t private_bytes = 0;
  std::string unwritten;  // see EncodeReport
  PrepareTimes times;
};

// Prepares `prompt`. `decoder` must be the one that `states` was made with. Throws as
// ModuleStates::import(), repair_states() and copy_states().
PreparedPrompt prepare(ModuleStates& states, model::Decoder& decoder,
                       const pml::CompiledPrompt& prompt, const PrepareOptions& options,
                       const Context& context);

// Replaces a request's prompt by the tokens to compute, at their positions.
void place(const PreparedPrompt& prompt, engine::Request& request);

// The request that computes the fresh tokens. Before it is submitted, `runs` must be attached to a
// ModuleImports of the engine under the same id, and detached when it has ended.
engine::Request request_of(const PreparedPrompt& prompt, engine::RequestId id,
                           int32_t max_new_tokens);

// Positions of the baseline that computes the whole prompt.
enum class Positions : uint8_t {
  kGapped,  // as in the schema, with the gaps of modules that are not imported
  kCompact  // 0, 1, 2, ...: the baseline of the released code
};

// The prompt without a cache: all imported and fresh texts in the order of their positions.
PlacedTokens whole_prompt(const pml::CompiledSchema& schema, const pml::CompiledPrompt& prompt,
                          Positions positions);

}  // namespace reprise::prompt_cache
