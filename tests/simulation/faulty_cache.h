// A cache with one of the mistakes of Canary, for the proof that the simulation finds them.
#pragma once

#include <memory>

#include "core/reuse/sequence_cache.h"
#include "tests/simulation/scenario.h"

namespace reprise::simulation {

// Returns `cache` itself if the canary is none of the engine's.
std::unique_ptr<reuse::SequenceCache> with_mistake(std::unique_ptr<reuse::SequenceCache> cache,
                                                   Canary canary);

}  // namespace reprise::simulation
