// Marks threads of this process that work beside the computing threads, such as a thread that reads
// files ahead. While they run, computing threads may wait for a core; CoreUse (core_use.h) does not
// count this waiting as time lost to other programs.
#pragma once

#include <sys/types.h>

#include <vector>

namespace reprise {

// Marks the thread that constructs it as doing background work, until it is destroyed.
class BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // `alive`: ids of the threads that do background work now. `ended_cpu_ms`: total processor time,
  // in milliseconds, of the threads whose background work has ended.
  struct Threads {
    std::vector<pid_t> alive;
    double ended_cpu_ms = 0;
  };
  static Threads threads();
};

}  // namespace reprise
