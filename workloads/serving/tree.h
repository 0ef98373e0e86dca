// Requests below a tree of prefixes: system prompts, sets of examples, documents.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Each group's system prompt has `few_shots` sets of examples below it, and each set `documents`
// documents. A request's path is drawn level by level. Only the system prompt is declared. Levels
// of length 0 are left out.
SourceInfo tree_info();
std::unique_ptr<Entries> make_tree(const SourceOptions& options);

}  // namespace reprise::workloads::serving
