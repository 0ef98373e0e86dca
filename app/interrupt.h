// Ctrl-C: the first interrupt asks the program to finish cleanly, a later one ends it at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace reprise::app {

// Installs the handler of SIGINT, SIGTERM and SIGHUP. The returned flag is set by the first of
// them.
const std::atomic<bool>& watch_interrupts();

// Signals closer together than this count as one interrupt: timeout(1) sends each of its signals
// twice, to the program and to its process group.
inline constexpr int64_t kOneInterrupt_ns = 250'000'000;

// Exit status of an interrupted program, as shells define it.
inline constexpr int kInterruptedStatus = 130;

}  // namespace reprise::app
