// Requests that all have the same lengths, as in the papers' synthetic loads.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Two forms. ChunkAttention's requests have n_p prompt tokens, of which n_s are the same for all,
// and n_c tokens to generate [ChunkAttention §4.2]. RelayAttention's have a user's tokens after a
// system prompt. Throws Error if the options of both forms or of neither are given, and if a prompt
// is shorter than its shared part.
SourceInfo grid_info();
std::unique_ptr<Entries> make_grid(const SourceOptions& options);

}  // namespace reprise::workloads::serving
