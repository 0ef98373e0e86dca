// How long the system lets this thread run in one go where others want its core too.
#pragma once

#include <cstdint>
#include <optional>

namespace reprise {

// Asks for the shortest slices that Linux grants (0.1 ms) for the calling thread and those it
// starts from now on. A thread gets no more of a core by it, only sooner: with the usual 3 ms, work
// of 0.2 ms that two threads share waits a whole slice of a neighbour's for the one that lost its
// core. Does nothing for threads under a real-time policy and on systems that know no such request
// (before Linux 6.12). It is the process's own choice, so the program makes it and no library does.
void ask_for_short_slices();

// What the calling thread asked for, in ns; 0: nothing, and nothing where the system doesn't say.
std::optional<uint64_t> asked_slice_ns();

}  // namespace reprise
