// At most one check on a machine at a time: two would take the cores from each other.
#pragma once

namespace reprise::checks {

// Held from construction to destruction, and let go by the system if the process dies. Throws Error
// naming the lock's file where another check holds it, and where it cannot be opened. The lock is
// by file in the folder of temporary files (TMPDIR), so processes with another such folder are not
// seen.
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
