// Asks the system for short time slices on cores that several threads share.
#pragma once

#include <cstdint>
#include <optional>

namespace reprise {

// Asks for the shortest slices that Linux grants (0.1 ms instead of the usual 3 ms), for the
// calling thread and the threads that it starts from now on. A thread gets its share of a core in
// shorter, more frequent turns, so work of 0.2 ms need not wait 3 ms for a neighbour. Does nothing
// under a real-time policy and before Linux 6.12. Programs call it, libraries do not.
void ask_for_short_slices();

// The slice that the calling thread asked for, in ns; 0 if it asked for none; nullopt if the system
// does not report it.
std::optional<uint64_t> asked_slice_ns();

}  // namespace reprise
