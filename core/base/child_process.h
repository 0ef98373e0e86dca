// Runs a program to its end and keeps what it printed.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace reprise {

// Thrown where the caller asked to stop; not an error.
struct Interrupted {};

// Has this process and the programs it starts from now on preempt all programs of ordinary priority
// on this machine (SCHED_FIFO, the programs one step below this process, so that it can still stop
// them). Throws Error where the system does not allow it.
void use_realtime_priority();

struct ChildResult {
  std::string out, err;
  double wall_s = 0;  // from its start to its end
};

// Starts command[0] (a path, or a name found in PATH) without standard input. Throws Error with the
// command and the end of its standard error if it cannot be started, ends with a status other than
// 0, is ended by a signal, or prints more than 64 MiB; Interrupted once `stop` is true, after the
// child has been ended too.
ChildResult run_child(const std::vector<std::string>& command, const std::atomic<bool>& stop);

}  // namespace reprise
