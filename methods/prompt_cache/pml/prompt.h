// A prompt derived from a schema, compiled to the cached tokens that it imports and the new tokens
// with their positions. [Prompt Cache §3.4]
//
// Every new token attends to all imported tokens, whatever their positions. The new tokens
// get these positions:
//   an argument     the first positions of its parameter; the rest of the parameter stays a gap
//   between imports text behind an import begins where the imported module ends; text before the
//                   first import begins where the nearest taken positions before that module end,
//                   or at 0. It must fit before the next taken position or the schema's end.
//                   Imported modules and the schema's own texts take positions
//   other text      behind the last import, or in a prompt without imports: from the schema's end
//
// If several complete scaffolds share a module, the one with the most modules is used; among equals
// the first in the schema.
//
// Faults of a prompt: another schema, an unknown module or parameter, a module imported twice, two
// members of one union, an argument longer than its parameter, a text without room, a closing half
// of a turn that nothing opens, positions beyond the model's, and no new tokens. Under
// Rules::kAsCoded, text before or between imports is a fault too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"

namespace reprise::pml {

enum class NewKind : uint8_t {
  kArgument,  // an argument, at the positions of its parameter
  kText,      // a text of the prompt itself
  kUncached,  // a text of an imported module with cache="false"
};

// Tokens at consecutive positions that have to be computed.
struct NewRun {
  NewKind kind = NewKind::kText;
  int32_t parameter = -1;  // index in CompiledSchema::parameters if kArgument, otherwise -1
  int32_t piece = -1;      // index in CompiledSchema::pieces if kUncached, otherwise -1
  Place place;             // place in the prompt's file
  int64_t first = 0;       // position of tokens[0]
  std::vector<int32_t> tokens;

  [[nodiscard]] int64_t end() const { return first + static_cast<int64_t>(tokens.size()); }
};

struct CompiledPrompt {
  std::string file;
  std::vector<int32_t> modules;    // indices of imported modules, ascending; always contains 0
  std::vector<int32_t> pieces;     // indices in CompiledSchema::pieces, by position
  std::vector<int32_t> scaffolds;  // indices of scaffolds that replace their modules' states
  // Never empty. Sorted by position, so that a causal mask in this order is causal in positions
  // too. Under Rules::kAsCoded the arguments come first, those of sibling imports in reverse order
  // of the imports (the released code keeps imports on a stack), and then the prompt's text.
  std::vector<NewRun> new_runs;
  int64_t cached_tokens = 0;  // tokens in `pieces`
  int64_t new_tokens = 0;     // tokens in `new_runs`
  // Largest position plus 1. The answer begins here; under Rules::kAsCoded it may begin before.
  int64_t end = 0;
};

// Compiles a prompt against its schema. `max_positions` is the model's number of positions; 0: no
// limit. Throws Error or ProblemsError, each problem with its place, for the faults listed above.
CompiledPrompt compile_prompt(const Prompt& prompt, const CompiledSchema& schema,
                              const TextEncoder& encoder, int64_t max_positions = 0);

// Checks the references of a prompt, which needs no tokenizer. Throws as compile_prompt().
void check_references(const Prompt& prompt, const CompiledSchema& schema);

}  // namespace reprise::pml
