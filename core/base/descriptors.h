// Raises the process's limit on open file descriptors: each connection takes at least one.
#pragma once

#include <cstdint>

namespace reprise {

// Descriptors kept for other uses than connections: standard streams, the listener, files of a
// model and of results.
inline constexpr int64_t kOtherDescriptors = 64;

// Raises the process's soft limit to its hard limit if the soft limit is below `wanted`. Returns
// the limit now in force, which may still be below `wanted`; 0 if it cannot be read.
int64_t raise_descriptor_limit(int64_t wanted);

}  // namespace reprise
