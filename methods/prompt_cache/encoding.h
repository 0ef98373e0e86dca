// Decides which tokens of a schema are computed together, and for which of them the states are
// kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::prompt_cache {

enum class Mode : uint8_t {
  // A module's tokens see only the tokens of the module. Each text of the schema outside of modules
  // is an anonymous module, and is computed by itself. [Prompt Cache §3.2.1, §3.3]
  kIsolated,
  // As in the released code: one causal pass over the whole schema, and one more for each union
  // member that is not the default. A module's states depend on everything before it, imported or
  // not.
  kJoint,
  // kIsolated, plus one joint pass over the modules of each scaffold. If a prompt imports all
  // modules of a scaffold, these joint states override the single ones. [Prompt Cache §3.3]
  kScaffold,
  // kIsolated; then, for each prompt, the imported tokens whose states deviate most from a joint
  // pass are computed again, seeing everything before them (see repair.h). Beyond the paper.
  kRepair
};

// "isolated", "joint", "scaffold", "repair".
[[nodiscard]] std::string name_of(Mode mode);
[[nodiscard]] const std::vector<std::string>& mode_names();
// Throws Error with the known names.
Mode mode_named(std::string_view name);

// Texts whose states are kept as one segment, one after another: the texts of a module or of a
// scaffold, or one of the schema's own texts.
struct StateUnit {
  // "module travel-plan", "module #1", "scaffold 0": part of the segment's key
  std::string name;
  std::vector<int32_t> pieces;  // indices in CompiledSchema::pieces, by position; no placeholders
  std::vector<int32_t> firsts;  // [pieces]  first token of each piece in the segment
  int32_t tokens = 0;
};

// Tokens that are computed together. Each sees the tokens at lower positions.
struct EncodingPass {
  std::vector<int32_t> pieces;  // by position, placeholders included
  std::vector<int32_t> units;   // indices in Encoding::units of the units that are kept
};

struct Encoding {
  std::vector<StateUnit> units;
  std::vector<EncodingPass> passes;
  // [pieces]  the unit that keeps the states of a text unless a scaffold overrides it; -1: not kept
  std::vector<int32_t> unit_of_piece;
  std::vector<int32_t> unit_of_scaffold;  // [scaffolds]  -1: no text is kept
};

// The passes and units of a schema in `mode`. Modules with cache="false" are seen by the modules
// that they are computed with, but not kept.
Encoding encoding_of(const pml::CompiledSchema& schema, Mode mode);

// The states of an imported text: tokens [first, first + tokens) of a unit's segment.
struct ImportedRun {
  int32_t unit = 0;
  int32_t first = 0, tokens = 0;
  int32_t first_position = 0;
};

// The states that a prompt imports, by position. Texts that are adjacent in one segment and in
// position form one run.
std::vector<ImportedRun> imported_runs(const pml::CompiledSchema& schema, const Encoding& encoding,
                                       const pml::CompiledPrompt& prompt);

}  // namespace reprise::prompt_cache
