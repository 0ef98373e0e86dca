// Requests below a tree of prefixes: system prompts, sets of examples, documents.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A prompt is a path through a tree: one of `groups` system prompts, one of its `few_shots` sets of
// examples, one of that set's `documents`, then the user's own tokens. Each level's choice is drawn
// by itself (Zipf). Only the system prompt is a declared prefix. A level of length 0 adds nothing.
SourceInfo tree_info();
std::unique_ptr<Entries> make_tree(const SourceOptions& options);

}  // namespace reprise::workloads::serving
