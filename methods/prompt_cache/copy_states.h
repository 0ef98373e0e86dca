// The variant with copies: imported states gathered in one buffer before they are used, as the
// paper's buffered concatenation does. [Prompt Cache §4.2]
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/context.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

struct CopiedStates {
  std::vector<StateRun> runs;  // of one buffer, as given; steps over them have the same bits
  int64_t bytes = 0;           // copied: keys and values of all layers
};

// All states of one shape and dtype, `layers` of them. Layers are copied by the threads of
// `context`.
CopiedStates copy_states(const std::vector<StateRun>& runs, int64_t layers, const Context& context);

}  // namespace reprise::prompt_cache
