// Requests about several documents of a common pool, combined anew or as before.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A prompt is `picks` different ones of `documents` documents in an order of its own, then the
// user's tokens. With probability `novelty` a request draws a combination for itself, as the first
// one always does; otherwise it takes the combination of an earlier request, each with equal
// probability. So with novelty 0 all requests have one combination, as in a burst of questions, and
// with novelty 1 a request has in common with earlier ones what chance gives. The documents are the
// source's modules.
SourceInfo recombined_info();
std::unique_ptr<Entries> make_recombined(const SourceOptions& options);

}  // namespace reprise::workloads::serving
