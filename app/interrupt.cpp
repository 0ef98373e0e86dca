#include "app/interrupt.h"

#include <csignal>
#include <ctime>

#include "core/base/interrupted.h"

namespace reprise::app {
namespace {

// Globals, because a signal handler can reach nothing else.
std::atomic<bool> g_interrupted = false;
std::atomic<int64_t> g_first_ns = 0;  // 0: there was no interrupt
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t steady_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void on_signal(int signal) {
  int64_t first_ns = 0;
  if (g_first_ns.compare_exchange_strong(first_ns, steady_ns())) {
    g_interrupted = true;
    return;
  }
  if (steady_ns() - first_ns < kOneInterrupt_ns) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);  // the handlers do not interrupt each other
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGHUP);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};  // nohup(1) ignores SIGHUP, and that must stay so
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  return g_interrupted;
}

std::function<void()> interruption_of(const std::atomic<bool>& stop) {
  return [&stop] {
    if (stop) throw Interrupted{};
  };
}

}  // namespace reprise::app
