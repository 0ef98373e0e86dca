// Keeps FAISS, which uses OpenMP, on the thread that calls it.
#pragma once

#include <omp.h>

namespace reprise {

// While this object lives, OpenMP regions of the calling thread run on that thread alone. Several
// threads of core/base/threads.h call FAISS at the same time. If each call started a team of its
// own, they would compete for the cores.
class OneOmpThread {
 public:
  OneOmpThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneOmpThread() { omp_set_num_threads(before_); }
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

}  // namespace reprise
