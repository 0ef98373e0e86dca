// Allows one check at a time on a machine, since two would compete for the cores.
#pragma once

namespace reprise::checks {

// Holds the lock during its lifetime; the system frees it if the process dies. Throws Error naming
// the lock's file if another check holds it or it cannot be opened. The file lies in the folder of
// temporary files (TMPDIR); processes with another TMPDIR are not seen.
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
