// Raises the process's limit on open file descriptors, since each connection needs at least one.
#pragma once

#include <cstdint>

namespace reprise {

// Number of descriptors kept for purposes other than connections: standard streams, the listening
// socket, files of a model and of results.
inline constexpr int64_t kOtherDescriptors = 64;

// If the process's soft limit is below `wanted`, raises it to the hard limit. Returns the soft
// limit now in force, which may still be below `wanted`. Returns 0 if the limit cannot be read.
int64_t raise_descriptor_limit(int64_t wanted);

}  // namespace reprise
