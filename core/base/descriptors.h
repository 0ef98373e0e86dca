// How many file descriptors the process may have: each connection takes one at least.
#pragma once

#include <cstdint>

namespace reprise {

// Beside those of connections: standard streams, the listener, files of a model and of results.
inline constexpr int64_t kOtherDescriptors = 64;

// The process's limit, raised from the soft to the hard one where it is below `wanted`. It may be
// below all the same.
int64_t raise_descriptor_limit(int64_t wanted);

}  // namespace reprise
