// Ctrl-C: the first asks the program to finish cleanly, a later one ends it at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace reprise::app {

// Installs the handler for SIGINT, SIGTERM and SIGHUP; the flag rises with the first of them.
const std::atomic<bool>& watch_interrupts();

// Signals that come closer together than this are one interrupt: timeout(1) sends each of its
// signals twice, to the program and to its process group.
inline constexpr int64_t kOneInterrupt_ns = 500'000'000;

// Exit status of a program that was interrupted, as shells expect it.
inline constexpr int kInterruptedStatus = 130;

}  // namespace reprise::app
