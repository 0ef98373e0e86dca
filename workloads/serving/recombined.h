// Requests about several documents of a common pool. A request combines them anew or repeats an
// earlier combination.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A prompt is a combination of `picks` different documents out of `documents`, in drawn order, then
// the user's tokens. The first request draws a combination. A later request draws a combination
// with probability `novelty`; otherwise it repeats the combination of an earlier request, and each
// earlier request is equally likely. Novelty 0: all requests have one combination, as in a burst of
// questions. Novelty 1: requests share only what chance gives. The documents are the source's
// modules.
SourceInfo recombined_info();
std::unique_ptr<Entries> make_recombined(const SourceOptions& options);

}  // namespace reprise::workloads::serving
