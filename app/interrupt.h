// Ctrl-C: the first asks the program to finish cleanly, the second ends it at once.
#pragma once

#include <atomic>

namespace reprise::app {

// Installs the handler for SIGINT and SIGTERM; the flag rises with the first of them.
const std::atomic<bool>& watch_interrupts();

// Exit status of a program that was interrupted, as shells expect it.
inline constexpr int kInterruptedStatus = 130;

}  // namespace reprise::app
