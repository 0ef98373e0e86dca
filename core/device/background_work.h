// Marks threads of this process that work beside the computing ones, such as one that reads files
// ahead, so that the processor time they take is not counted as another program's.
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

  // Ids of the threads that do background work now; total processor time of those that have ended.
  struct Threads {
    std::vector<pid_t> alive;
    double ended_cpu_ms = 0;
  };
  static Threads threads();
};

}  // namespace reprise
