// Makes a thread lose its core to another thread, as other programs do.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

namespace reprise::testing {

// Runs fn() on a thread that shares its core with a thread that never rests.
template <typename Fn>
void beside_a_busy_thread(Fn&& fn) {
  const auto pin_to = [](int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
  };
  const int core = sched_getcpu();
  std::atomic<bool> stops = false;
  std::thread busy([&] {
    pin_to(core);
    while (!stops) {
    }
  });
  std::thread([&] {
    pin_to(core);
    fn();
  }).join();
  stops = true;
  busy.join();
}

}  // namespace reprise::testing
