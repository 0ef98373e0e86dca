#include "core/device/background_work.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>

namespace reprise {
namespace {

struct Registry {
  std::mutex mutex;
  BackgroundWork::Threads threads;
};

// Never destroyed, because threads may end after static objects are destroyed.
Registry& registry() {
  static auto* const one = new Registry;
  return *one;
}

double cpu_ms_of_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

BackgroundWork::BackgroundWork() {
  const std::lock_guard lock(registry().mutex);
  registry().threads.alive.push_back(gettid());
}

BackgroundWork::~BackgroundWork() {
  const std::lock_guard lock(registry().mutex);
  Threads& threads = registry().threads;
  threads.alive.erase(std::find(threads.alive.begin(), threads.alive.end(), gettid()));
  threads.ended_cpu_ms += cpu_ms_of_this_thread();
}

BackgroundWork::Threads BackgroundWork::threads() {
  const std::lock_guard lock(registry().mutex);
  return registry().threads;
}

}  // namespace reprise
