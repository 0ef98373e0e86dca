// Threads of this process that work beside the ones that compute, such as one that reads files
// ahead: what they take of the cores is no other program's doing.
#pragma once

#include <sys/types.h>

#include <vector>

namespace reprise {

// The thread that makes one does background work for as long as it lives.
class BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // The threads that do some now, and the processor time of those that have ended it.
  struct Threads {
    std::vector<pid_t> alive;
    double ended_cpu_ms = 0;
  };
  static Threads threads();
};

}  // namespace reprise
