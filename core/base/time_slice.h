// Asks the system for short time slices on cores that several threads share.
#pragma once

#include <cstdint>
#include <optional>

namespace reprise {

// For the calling thread and the threads that it starts from now on, asks for the shortest time
// slices that Linux grants: 0.1 ms instead of the usual 3 ms. A thread then gets its share of a
// core in shorter, more frequent turns, so 0.2 ms of work need not wait 3 ms for another thread.
// Does nothing under a real-time policy and before Linux 6.12. Only programs call it, not
// libraries.
void ask_for_short_slices();

// Returns the time slice that the calling thread asked for, in ns; 0 if it asked for none; nullopt
// if the system does not report it.
std::optional<uint64_t> asked_slice_ns();

}  // namespace reprise
