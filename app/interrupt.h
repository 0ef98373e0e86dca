// Handles interrupts such as Ctrl-C. The first interrupt asks the program to finish cleanly; a
// later interrupt ends the program at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace reprise::app {

// Installs a handler of SIGINT, SIGTERM and SIGHUP. The first such signal sets the returned flag.
const std::atomic<bool>& watch_interrupts();

// Returns a function that throws Interrupted once `stop` is set. `stop` must outlive it.
std::function<void()> interruption_of(const std::atomic<bool>& stop);

// Signals that follow each other within this time, in nanoseconds, count as one interrupt, because
// timeout(1) sends each of its signals twice: to the program and to its process group.
inline constexpr int64_t kOneInterrupt_ns = 250'000'000;

// Exit status of an interrupted program, as shells define it.
inline constexpr int kInterruptedStatus = 130;

}  // namespace reprise::app
