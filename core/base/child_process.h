// The one way to start another program.
#pragma once

#include <sys/types.h>

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

// Open files that become a program's standard streams. -1: it reads nothing, and prints where this
// process does.
struct ChildStreams {
  int in = -1, out = -1, err = -1;
};

// How a program ended.
struct ChildEnd {
  int status = 0;  // that it ended with
  int signal = 0;  // that ended it; 0: none

  [[nodiscard]] bool is_success() const { return status == 0 && signal == 0; }
  // As shells count: the status, or 128 and the signal.
  [[nodiscard]] int code() const { return signal == 0 ? status : 128 + signal; }
};

// A program under way. It does not outlive this object: destroyed before it was waited for, it is
// killed.
class ChildProcess {
 public:
  // Starts command[0], a path or a name found in PATH. Throws Error naming it and the reason.
  ChildProcess(const std::vector<std::string>& command, const ChildStreams& streams);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Nothing happens to one that was waited for.
  void send(int signal) const;
  // Once.
  ChildEnd wait();

 private:
  pid_t pid_ = 0;  // 0: it was waited for
};

struct ChildResult {
  std::string out, err;
  double wall_s = 0;  // from its start to its end
};

// Runs a program to its end without standard input and keeps what it prints. Throws Error with the
// command and the end of its standard error if it cannot be started, ends with a status other than
// 0, is ended by a signal, or prints more than 64 MiB; Interrupted once `stop` is true, after the
// child has been ended too.
ChildResult run_child(const std::vector<std::string>& command, const std::atomic<bool>& stop);

}  // namespace reprise
