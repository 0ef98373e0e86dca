// Requests with recorded lengths.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Reads a CSV of integers, with or without a heading: tokens of a prompt and of an output in two
// columns. Prompts are made up. A declared prefix, `shared_tokens` additional tokens, precedes each
// prompt.
SourceInfo lengths_info();
std::unique_ptr<Entries> make_lengths(const SourceOptions& options);

}  // namespace reprise::workloads::serving
