// Requests of recorded lengths.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A CSV of whole numbers: a heading, or none, then a prompt's tokens and an output's in the two
// columns. Prompts are made up; `shared_tokens` more of a declared prefix stand before each.
SourceInfo lengths_info();
std::unique_ptr<Entries> make_lengths(const SourceOptions& options);

}  // namespace reprise::workloads::serving
