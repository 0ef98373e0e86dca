#include "core/device/core_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/device/background_work.h"

namespace reprise {
namespace {

double ms_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
}

struct ThreadTimes {
  double waited_ms = 0;      // waiting time of all threads without background work
  double background_ms = 0;  // processor time of threads that do background work
};

// Sums over the threads that are alive, plus the processor time of ended background work. The
// waiting time of a thread that has ended is lost.
ThreadTimes thread_times() {
  const BackgroundWork::Threads background = BackgroundWork::threads();
  ThreadTimes times{.background_ms = background.ended_cpu_ms};
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string path = task.path().string() + "/schedstat";
    FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    double ran_ns = 0, waited_ns = 0;
    const bool is_read = std::fscanf(file, "%lf %lf", &ran_ns, &waited_ns) == 2;
    std::fclose(file);
    if (!is_read) continue;
    const auto tid = static_cast<pid_t>(std::atol(task.path().filename().c_str()));
    if (std::find(background.alive.begin(), background.alive.end(), tid) == background.alive.end())
      times.waited_ms += waited_ns * 1e-6;
    else
      times.background_ms += ran_ns * 1e-6;
  }
  return times;
}

// Stolen time of all cores together: the eighth number of the first line of /proc/stat, in clock
// ticks.
double stolen_ms() {
  FILE* file = std::fopen("/proc/stat", "r");
  if (file == nullptr) return 0;
  double ticks = 0;
  if (std::fscanf(file, "cpu %*f %*f %*f %*f %*f %*f %*f %lf", &ticks) != 1) ticks = 0;
  std::fclose(file);
  return ticks * 1e3 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

double CoreUse::lost_ms() const {
  // The system counts stolen time in steps of 10 ms, so in a shorter measurement stolen_ms shows
  // only that some time was stolen.
  return std::max({0.0, waited_ms - background_ms, std::min(stolen_ms, wall_ms)});
}

bool CoreUse::lost_its_core() const { return lost_ms() > std::max(kLostMs, kLostShare * wall_ms); }

CoreUse operator-(const CoreUse& end, const CoreUse& begin) {
  return {.wall_ms = end.wall_ms - begin.wall_ms,
          .cpu_ms = end.cpu_ms - begin.cpu_ms,
          .waited_ms = std::max(0.0, end.waited_ms - begin.waited_ms),
          .background_ms = std::max(0.0, end.background_ms - begin.background_ms),
          .involuntary_switches = end.involuntary_switches - begin.involuntary_switches,
          .stolen_ms = end.stolen_ms - begin.stolen_ms};
}

CoreUse core_use_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const ThreadTimes threads = thread_times();
  return {.wall_ms = std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now().time_since_epoch())
                         .count(),
          .cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime),
          .waited_ms = threads.waited_ms,
          .background_ms = threads.background_ms,
          .involuntary_switches = usage.ru_nivcsw,
          .stolen_ms = stolen_ms()};
}

}  // namespace reprise
