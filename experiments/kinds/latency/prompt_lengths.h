// Lengths of the prompts of kind "ttft" and of their shared part, given in tokens or by the name of
// a data set.
#pragma once

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// The axis "dataset" sets prompt_tokens and fresh_tokens, and fresh_tokens sets shared_tokens.
[[nodiscard]] Axis fresh_tokens_axis();
[[nodiscard]] Axis dataset_axis();
[[nodiscard]] Axis context_limit_axis();

// The group with prompt_tokens and shared_tokens computed from these axes. Throws Error if two of
// them set the same length, or one is given that has no effect.
[[nodiscard]] Group with_lengths(Group group);

// Adds the lengths of the data set, if one is chosen, to a point's resolved settings. Without one
// the requested settings are complete. `group` is the result of with_lengths().
void add_lengths(const Group& group, Json& resolved);

}  // namespace reprise::experiments
