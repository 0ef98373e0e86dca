// A prompt that is derived from a schema: which cached tokens it imports, and which new tokens it
// brings at which positions. [Prompt Cache §3.4]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"

namespace reprise::pml {

enum class NewKind : uint8_t {
  kArgument,  // in the place of a parameter
  kText,      // of the prompt
  kUncached,  // text of an imported module with cache="false"
};

// Tokens at consecutive positions that have to be computed.
struct NewRun {
  NewKind kind = NewKind::kText;
  int32_t parameter = -1;  // of kArgument: index in CompiledSchema::parameters
  int32_t piece = -1;      // of kUncached: index in CompiledSchema::pieces
  Place place;             // in the prompt
  int64_t first = 0;       // position of tokens[0]
  std::vector<int32_t> tokens;

  [[nodiscard]] int64_t end() const { return first + static_cast<int64_t>(tokens.size()); }
};

struct CompiledPrompt {
  std::string file;
  std::vector<int32_t> modules;    // imported, sorted; 0, the schema's own text, is always there
  std::vector<int32_t> pieces;     // imported texts, by position: indices in CompiledSchema::pieces
  std::vector<int32_t> scaffolds;  // whose states override those of their modules
  // By position, so that a causal mask in this order is one by position. Rules::kAsCoded: arguments
  // first, those of the last import before those of the imports beside it, then the text. Never
  // empty.
  std::vector<NewRun> new_runs;
  int64_t cached_tokens = 0;  // of pieces
  int64_t new_tokens = 0;     // of new_runs
  int64_t end = 0;            // the largest position of all, and one: where the answer begins
};

// Every new token sees all imported ones, whatever their positions.
//
// - An argument takes the first positions of its parameter; the others stay a gap, and so do those
// of
//   a parameter without an argument.
// - Text behind an import begins where that module ends, text before the first import where the
// last
//   thing ends that stands before that module; either has to fit before what comes next in
//   position: a module that is imported, the schema's own text, or the schema's end.
// - Text behind the last import, or without any, begins at the schema's end.
//
// Of several complete scaffolds that share a module, the one with the most modules counts, among
// equals the first in the schema.
//
// `max_positions`: of the model; 0: no end. Throws Error, or ProblemsError, each problem with its
// place: another schema's prompt, an unknown module or parameter, a module imported twice, two
// members of one union, an argument longer than its parameter, a text without room, a half turn
// that nothing opens, positions beyond the model's, no new token. Rules::kAsCoded: text anywhere
// but behind the last import is an error too.
CompiledPrompt compile_prompt(const Prompt& prompt, const CompiledSchema& schema,
                              const TextEncoder& encoder, int64_t max_positions = 0);

// The part that needs no tokenizer: throws as compile_prompt() for what is wrong with references.
void check_references(const Prompt& prompt, const CompiledSchema& schema);

}  // namespace reprise::pml
