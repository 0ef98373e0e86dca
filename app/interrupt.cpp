#include "app/interrupt.h"

#include <csignal>

namespace reprise::app {
namespace {

std::atomic<bool> g_interrupted = false;  // a signal handler has nowhere else to write
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) { g_interrupted = true; }

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;  // the second one ends the program
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return g_interrupted;
}

}  // namespace reprise::app
