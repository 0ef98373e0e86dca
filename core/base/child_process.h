// Starts other programs and waits for them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/base/interrupted.h"

namespace reprise {

// Gives real-time priority (SCHED_FIFO) to the calling thread, and to the threads and programs that
// it starts from now on. They then run before all programs of ordinary priority. Started programs
// get a priority one below that of this process, so that it can still stop them. Throws Error if
// the system does not allow it.
void use_realtime_priority();

// Open file descriptors that become a program's standard streams. -1 means /dev/null for `in`, and
// this process's own stream for `out` and `err`.
struct ChildStreams {
  int in = -1, out = -1, err = -1;
};

// How a program ended.
struct ChildEnd {
  int status = 0;  // exit status; 0 if a signal ended the program
  int signal = 0;  // the signal that ended the program, or 0

  [[nodiscard]] bool is_success() const { return status == 0 && signal == 0; }
  // The exit code as a shell reports it: the status, or 128 + the signal.
  [[nodiscard]] int code() const { return signal == 0 ? status : 128 + signal; }
};

// A running program. The destructor kills it if wait() was not called.
class ChildProcess {
 public:
  // Starts command[0], a path or a name found in PATH. Throws Error naming the command and the
  // reason.
  ChildProcess(const std::vector<std::string>& command, const ChildStreams& streams);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Sends a signal to the program; does nothing after wait().
  void send(int signal) const;
  // Waits for the program to end. Called at most once.
  ChildEnd wait();

 private:
  pid_t pid_ = 0;  // 0 after wait()
};

// Replaces this program by command[0], with the streams and signals of a ChildProcess that is given
// no streams. A signal that is sent to this process then reaches the command. Throws Error as
// ChildProcess does.
[[noreturn]] void become(const std::vector<std::string>& command);

// A program that answers each line of input with a line of output. The destructor kills it.
class ChildDialogue {
 public:
  // Starts the program. Throws Error as ChildProcess does.
  explicit ChildDialogue(const std::vector<std::string>& command);
  ~ChildDialogue();

  // Writes `line` and a newline to the program's standard input, and returns the next line of its
  // standard output. Throws as next_line() does.
  std::string ask(const std::string& line, const std::atomic<bool>& stop);
  // Returns the next line of the program's standard output, without the newline. Throws Error
  // naming the program if the line exceeds 64 MiB. Also throws Error if the program ends before it
  // completes the line; this error includes the end of its standard error. Throws Interrupted once
  // `stop` is true.
  std::string next_line(const std::atomic<bool>& stop);

 private:
  struct Ends;
  std::string name_;
  std::unique_ptr<Ends> ends_;
  // Input not written yet; output not returned yet; recent standard error.
  std::string unwritten_, out_, err_;
};

struct ChildResult {
  std::string out, err;
  double wall_s = 0;  // from the program's start to its end
};

// Runs a program to its end, without standard input, and returns what it prints. Throws Error if
// the program cannot be started or prints more than 64 MiB. Also throws Error if it fails or is
// ended by a signal; this error includes the command and the end of the standard error. Once `stop`
// is true, kills the program and throws Interrupted.
ChildResult run_child(const std::vector<std::string>& command, const std::atomic<bool>& stop);

}  // namespace reprise
