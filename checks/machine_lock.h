// Allows one check at a time on a machine, since two would compete for the cores.
#pragma once

namespace reprise::checks {

// Holds the lock during its lifetime; the system frees the lock if the process dies. The lock is a
// file in the folder of temporary files, so processes with another TMPDIR are not seen. The
// constructor throws Error naming the file if another check holds the lock or if the file cannot be
// opened.
class MachineLock {
 public:
  MachineLock();
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;
  ~MachineLock();

 private:
  int file_ = -1;
};

}  // namespace reprise::checks
