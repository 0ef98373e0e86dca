// Mooncake's traces: times, lengths, and which blocks of a prompt are the same.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// JSON Lines of {timestamp (ms), input_length, output_length, hash_ids}: an id for each block of
// 512 tokens, the last one filled in part [Mooncake, FAST'25]. Equal ids become equal tokens. A
// divisor divides the block too, so that what was shared stays shared: prompts become whole blocks
// of round(512 / divisor) tokens and a last one of at least 1. Declared is what all requests of the
// file begin with, in whole blocks: the service's system prompt.
SourceInfo mooncake_info();
std::unique_ptr<Entries> make_mooncake(const SourceOptions& options);

}  // namespace reprise::workloads::serving
