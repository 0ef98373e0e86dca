// Requests below a tree of prefixes: a system prompt, sets of examples, documents.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Each group's system prompt has `few_shots` sets of examples below it, each of these `documents`;
// a request's path is drawn level by level. Declared is the system prompt alone. A level of length
// 0 is left out.
SourceInfo tree_info();
std::unique_ptr<Entries> make_tree(const SourceOptions& options);

}  // namespace reprise::workloads::serving
