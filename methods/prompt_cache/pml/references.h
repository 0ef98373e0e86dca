// Resolves the references of a prompt to modules and parameters of its schema.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "methods/prompt_cache/pml/layout.h"

namespace reprise::pml {

struct GivenArgument {
  int32_t parameter = 0;  // index in CompiledSchema::parameters
  Place place;
  std::string value;
};

// One end of a turn, or <system/>.
struct TurnMarker {
  Role role = Role::kUser;
  Part part = Part::kOpen;
  Place place;
};

// An import that is not nested in another one.
struct TopImport {
  int32_t module = 0;
};

struct ResolvedPrompt {
  // Index of each imported module, with the place that imports it. Index 0, the schema's own text,
  // is always there, with the place of the prompt.
  std::map<int32_t, Place> modules;
  // Arguments in document order; under Rules::kAsCoded, in the order of the released code's stack.
  std::vector<GivenArgument> arguments;
  // The prompt's texts, markers and outermost imports, in document order.
  std::vector<std::variant<Text, TurnMarker, TopImport>> sequence;
};

// Resolves the references and reports the problems that compile_prompt() lists for them.
ResolvedPrompt resolve(const Prompt& prompt, const CompiledSchema& schema, Report& report);

}  // namespace reprise::pml
