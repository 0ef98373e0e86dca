// Mooncake's traces: arrival times, lengths, and block ids that show which blocks of prompts are
// equal.
//
// Files are JSON Lines of {timestamp (ms), input_length, output_length, hash_ids} with an id for
// each block of 512 tokens, the last one partly filled [Mooncake, FAST'25].
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Prompts are made as in BlockTrace. The blocks with which all requests begin, the service's system
// prompt, become a declared prefix.
SourceInfo mooncake_info();
std::unique_ptr<Entries> make_mooncake(const SourceOptions& options);

}  // namespace reprise::workloads::serving
