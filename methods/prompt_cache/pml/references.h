// A prompt's references, found in its schema.
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

// An import that is not inside another.
struct TopImport {
  int32_t module = 0;
};

struct ResolvedPrompt {
  std::map<int32_t, Place> modules;  // imported, the schema's own text (0) among them
  // In the order in which they stand; Rules::kAsCoded: in that of the released code's stack.
  std::vector<GivenArgument> arguments;
  // The prompt's texts, markers and outer imports, in the order in which they stand.
  std::vector<std::variant<Text, TurnMarker, TopImport>> sequence;
};

// Reports what does not fit: see compile_prompt().
ResolvedPrompt resolve(const Prompt& prompt, const CompiledSchema& schema, Report& report);

}  // namespace reprise::pml
