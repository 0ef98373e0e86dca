// Requests whose prompts are paths through a tree of prefixes: system prompts, sets of examples,
// documents.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A prompt is one of `groups` system prompts, one of its `few_shots` sets of examples, one of that
// set's `documents`, then the user's own tokens. The choice at each level is drawn independently by
// Zipf's law. Only the system prompt is a declared prefix. A level of length 0 adds nothing.
SourceInfo tree_info();
std::unique_ptr<Entries> make_tree(const SourceOptions& options);

}  // namespace reprise::workloads::serving
