// How long the prompts of kind "ttft" are and how much of them is shared: said in tokens, or by the
// name of a data set.
#pragma once

#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Of these, "dataset" stands for prompt_tokens and fresh_tokens, and fresh_tokens for
// shared_tokens.
[[nodiscard]] Axis fresh_tokens_axis();
[[nodiscard]] Axis dataset_axis();
[[nodiscard]] Axis context_limit_axis();

// The group with prompt_tokens and shared_tokens as they follow from these axes. Throws Error where
// two of them say the same thing, or one is given that nothing would read.
[[nodiscard]] Group with_lengths(Group group);

// Adds the lengths that a data set stands for to a point's settings as they turned out; without one
// the requested settings say it all. `group` is with_lengths().
void add_lengths(const Group& group, Json& resolved);

}  // namespace reprise::experiments
