// Which tokens of a schema are computed together, and what is kept of each computation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::prompt_cache {

enum class Mode : uint8_t {
  // A module's tokens see those of the module alone. [Prompt Cache §3.3]
  kIsolated,
  // The whole schema in one causal pass, and one more for each member of a union that is not its
  // default: a module's states depend on all that stands before it, imported or not. What the
  // released code does.
  kJoint,
  // kIsolated, and the scaffolds' modules together in addition: where a prompt imports all modules
  // of one, the states that saw each other override the single ones. [Prompt Cache §3.3]
  kScaffold,
  // kIsolated, and for each prompt the imported tokens that deviate most from those of a common
  // pass are computed again, seeing all that stands before them (see repair.h). Beyond the paper.
  kRepair
};

// "isolated", "joint", "scaffold", "repair".
[[nodiscard]] std::string name_of(Mode mode);
[[nodiscard]] const std::vector<std::string>& mode_names();
// Throws Error naming the known ones.
Mode mode_named(std::string_view name);

// Texts whose states are kept as one segment, token behind token: those of a module or of a
// scaffold.
struct StateUnit {
  std::string name;             // "module /travel-plan", "scaffold 0": of the segment's key
  std::vector<int32_t> pieces;  // indices in CompiledSchema::pieces, by position; no placeholders
  std::vector<int32_t> firsts;  // [pieces]  the segment's token that each begins with
  int32_t tokens = 0;
};

// Tokens that are computed together: each sees those at lower positions.
struct EncodingPass {
  std::vector<int32_t> pieces;  // by position; placeholders among them
  std::vector<int32_t> units;   // whose states are kept of it: indices in Encoding::units
};

struct Encoding {
  std::vector<StateUnit> units;
  std::vector<EncodingPass> passes;
  std::vector<int32_t> unit_of_module;    // [modules]    -1: nothing of it is kept
  std::vector<int32_t> unit_of_scaffold;  // [scaffolds]  -1: likewise
};

// How `mode` encodes a schema. Modules with cache="false" are seen by those they are computed with,
// and not kept.
Encoding encoding_of(const pml::CompiledSchema& schema, Mode mode);

// Where the states of an imported text lie: tokens [first, first + tokens) of a unit's segment.
struct ImportedRun {
  int32_t unit = 0;
  int32_t first = 0, tokens = 0;
  int32_t first_position = 0;
};

// The states a prompt imports, by position, with what lies side by side as one run.
std::vector<ImportedRun> imported_runs(const pml::CompiledSchema& schema, const Encoding& encoding,
                                       const pml::CompiledPrompt& prompt);

}  // namespace reprise::prompt_cache
