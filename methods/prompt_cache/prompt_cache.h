// A prompt derived from a schema, made ready for an engine: what it imports, and the tokens left to
// compute. [Prompt Cache §3.4]
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/context.h"
#include "core/engine/request.h"
#include "methods/prompt_cache/copy_states.h"
#include "methods/prompt_cache/imports.h"
#include "methods/prompt_cache/module_states.h"

namespace reprise::prompt_cache {

struct PrepareOptions {
  // Of the imported tokens, how many Mode::kRepair computes again. 15 % is what CacheBlend uses.
  double repair_ratio = 0.15;
  bool copies = false;  // gather imported states in one buffer first, as the paper does
  CopyBuffer* copy_buffer = nullptr;  // to gather them in; null: one of the prompt's own
};

// Where the time before the first step goes.
struct PrepareTimes {
  double lookup_s = 0;  // finding states, and laying out what is imported
  double encode_s = 0;  // computing states that were not there
  double copy_s = 0;
  double repair_s = 0;
};

struct PreparedPrompt {
  PlacedTokens fresh;          // tokens to be computed, at their positions, in the prompt's order
  std::vector<StateRun> runs;  // what they see beside themselves
  int64_t imported_tokens = 0;
  int64_t repaired_tokens = 0;  // of these, computed again
  int64_t copied_bytes = 0;
  PrepareTimes times;
};

// `decoder` and `mode` as `states` was made with. Throws as ModuleStates::import() and
// repair_states().
PreparedPrompt prepare(ModuleStates& states, model::Decoder& decoder,
                       const pml::CompiledPrompt& prompt, const PrepareOptions& options,
                       const Context& context);

// Leaves of a request's prompt the tokens to be computed, at their positions.
void place(const PreparedPrompt& prompt, engine::Request& request);

// The request that computes the fresh tokens. Whoever submits it attaches `runs` to a ModuleImports
// of the engine under the same id before, and detaches them when it has ended.
engine::Request request_of(const PreparedPrompt& prompt, engine::RequestId id,
                           int32_t max_new_tokens);

// How the baseline places what it computes whole.
enum class Positions : uint8_t {
  kGapped,  // as the schema does, with the gaps of what is not imported
  kCompact  // 0, 1, 2, ...: what the released code compares with
};

// The same prompt without a cache: all imported texts and the fresh ones in the order of their
// positions.
PlacedTokens whole_prompt(const pml::CompiledSchema& schema, const pml::CompiledPrompt& prompt,
                          Positions positions);

}  // namespace reprise::prompt_cache
