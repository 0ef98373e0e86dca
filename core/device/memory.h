// Process memory as the operating system and our own allocator see it.
#pragma once

#include <cstdint>

namespace reprise {

// Highest resident set of this process so far, in bytes (VmHWM). 0 where the system does not tell.
int64_t peak_resident_bytes();
// Resident set now, in bytes.
int64_t resident_bytes();
// Memory that can be had without swapping, in bytes (MemAvailable, or the cgroup's limit where that
// is lower).
int64_t available_bytes();

}  // namespace reprise
