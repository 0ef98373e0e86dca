// Requests of one shape, as in the papers' synthetic loads.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Either n_p prompt tokens of which n_s are the same for all, and n_c tokens to generate
// [ChunkAttention §4.2], or a user's tokens after a system prompt, as in RelayAttention's synthetic
// loads. Throws Error if both or neither are given, and if the prompt is shorter than its shared
// part.
SourceInfo grid_info();
std::unique_ptr<Entries> make_grid(const SourceOptions& options);

}  // namespace reprise::workloads::serving
