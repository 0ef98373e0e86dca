// Requests of one shape: the synthetic loads of the papers.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// n_p prompt tokens of which n_s are the same for all, and n_c to generate [ChunkAttention §4.2];
// or a user's tokens behind a system prompt, as the synthetic loads of RelayAttention's authors.
// Throws Error where the prompt is given in both ways or in none, and where it is shorter than what
// is shared.
SourceInfo grid_info();
std::unique_ptr<Entries> make_grid(const SourceOptions& options);

}  // namespace reprise::workloads::serving
