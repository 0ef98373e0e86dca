#include "core/base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/pipe.h"
#include "core/base/steady_now.h"

extern char** environ;

namespace reprise {
namespace {

constexpr size_t kMostOutput = size_t{64} << 20;
constexpr size_t kMostKept = size_t{1} << 16;  // bytes of a dialogue's standard error that are kept
// The two lowest real-time priorities, so that other real-time programs have higher ones.
constexpr int kOurPriority = 2, kChildPriority = 1;

// Appends the bytes that can be read now. Returns false at the end of the stream.
bool read_some(int file, std::string& text) {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<size_t>(count));
  return count > 0;
}

void read_both(const Pipe& out, const Pipe& err, ChildResult& result, const std::string& name,
               const std::atomic<bool>& stop) {
  std::array<pollfd, 2> files = {pollfd{out.read_end(), POLLIN, 0},
                                 pollfd{err.read_end(), POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    constexpr int kTick_ms = 50;  // upper bound on the delay until `stop` is seen
    if (poll(files.data(), files.size(), kTick_ms) < 0 && errno != EINTR)
      raise("cannot wait for {}: {}", name, std::strerror(errno));
    if (stop) throw Interrupted{};
    for (size_t i = 0; i < files.size(); ++i)
      if (files[i].revents != 0 && !read_some(files[i].fd, i == 0 ? result.out : result.err))
        files[i].fd = -1;  // poll() ignores negative descriptors
    if (result.out.size() + result.err.size() > kMostOutput)
      raise("{} printed more than {} MiB, more than is kept of a program", name, kMostOutput >> 20);
  }
}

// Returns the end of a program's standard error, which usually states why it failed.
std::string last_words(const std::string& err) {
  constexpr size_t kMost = 400;
  std::string text = err.substr(err.size() > kMost ? err.size() - kMost : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "It printed no error." : "It said: " + text;
}

// The words' addresses as exec() takes them. The command must outlive them, and have a word.
std::vector<char*> arguments_of(const std::vector<std::string>& command) {
  REPRISE_CHECK(!command.empty());
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

[[noreturn]] void raise_not_started(const std::vector<std::string>& command, int error) {
  raise("cannot start {}: {}", command[0], std::strerror(error));
}

}  // namespace

void become(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = arguments_of(command);
  if (const int nothing = ::open("/dev/null", O_RDONLY); nothing > STDIN_FILENO) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  ::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments.data());
  raise_not_started(command, errno);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const ChildStreams& streams) {
  const std::vector<char*> arguments = arguments_of(command);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (streams.in >= 0)
    posix_spawn_file_actions_adddup2(&actions, streams.in, 0);
  else
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (streams.out >= 0) posix_spawn_file_actions_adddup2(&actions, streams.out, 1);
  if (streams.err >= 0) posix_spawn_file_actions_adddup2(&actions, streams.err, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Restores the default action of SIGPIPE, so that the program ends quietly if the reader of its
  // output has ended.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  short flags = POSIX_SPAWN_SETSIGDEF;
  if (sched_getscheduler(0) == SCHED_FIFO) {
    const sched_param parameters{.sched_priority = kChildPriority};
    posix_spawnattr_setschedparam(&attributes, &parameters);
    flags = static_cast<short>(flags | POSIX_SPAWN_SETSCHEDPARAM);
  }
  posix_spawnattr_setflags(&attributes, flags);
  const int error =
      posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = 0;
    raise_not_started(command, error);
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  send(SIGKILL);
  (void)wait();
}

void ChildProcess::send(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

ChildEnd ChildProcess::wait() {
  REPRISE_CHECK(pid_ > 0, "waited for twice");
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.status = WEXITSTATUS(status)};
}

void use_realtime_priority() {
  const sched_param parameters{.sched_priority = kOurPriority};
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0)
    raise(
        "--realtime: the system does not allow real-time priority ({}). Run as root, or give the "
        "program CAP_SYS_NICE, or leave --realtime out.",
        std::strerror(errno));
}

struct ChildDialogue::Ends {
  Pipe in{Pipe::Kind::kSockets}, out, err;
  ChildProcess child;

  explicit Ends(const std::vector<std::string>& command)
      : child(command, {.in = in.read_end(), .out = out.write_end(), .err = err.write_end()}) {
    in.close_read_end();
    out.close_write_end();
    err.close_write_end();
  }
};

ChildDialogue::ChildDialogue(const std::vector<std::string>& command)
    : name_(command[0]), ends_(std::make_unique<Ends>(command)) {}

ChildDialogue::~ChildDialogue() = default;

std::string ChildDialogue::ask(const std::string& line, const std::atomic<bool>& stop) {
  unwritten_ += line + '\n';
  return next_line(stop);
}

std::string ChildDialogue::next_line(const std::atomic<bool>& stop) {
  constexpr int kTick_ms = 50;  // upper bound on the delay until `stop` is seen
  std::array<pollfd, 3> files = {pollfd{ends_->out.read_end(), POLLIN, 0},
                                 pollfd{ends_->err.read_end(), POLLIN, 0},
                                 pollfd{ends_->in.write_end(), POLLOUT, 0}};
  for (size_t seen = 0;;) {
    if (const size_t end = out_.find('\n', seen); end != std::string::npos) {
      std::string line = out_.substr(0, end);
      out_.erase(0, end + 1);
      return line;
    }
    seen = out_.size();
    if (seen > kMostOutput) raise("{} printed a line of more than {} MiB", name_, seen >> 20);
    if (unwritten_.empty()) files[2].fd = -1;
    if (poll(files.data(), files.size(), kTick_ms) < 0 && errno != EINTR)
      raise("cannot wait for {}: {}", name_, std::strerror(errno));
    if (stop) throw Interrupted{};
    if (files[1].revents != 0 && !read_some(files[1].fd, err_)) files[1].fd = -1;
    if (err_.size() > kMostKept) err_.erase(0, err_.size() - kMostKept / 2);
    if (files[0].revents != 0 && !read_some(files[0].fd, out_))
      raise("{} ended without an answer. {}", name_, last_words(err_));
    if (files[2].fd >= 0 && files[2].revents != 0) {
      const ssize_t count =
          ::send(files[2].fd, unwritten_.data(), unwritten_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) unwritten_.erase(0, static_cast<size_t>(count));
      // This error is not reported. If the program has ended, the loop finds the end of its output
      // next, and that error says more.
      if (count < 0 && errno != EAGAIN && errno != EINTR) unwritten_.clear();
    }
  }
}

ChildResult run_child(const std::vector<std::string>& command, const std::atomic<bool>& stop) {
  if (stop) throw Interrupted{};
  const int64_t begin_ns = steady_now_ns();
  Pipe out, err;
  ChildProcess child(command, {.out = out.write_end(), .err = err.write_end()});
  out.close_write_end();
  err.close_write_end();
  ChildResult result;
  read_both(out, err, result, command[0], stop);
  const ChildEnd end = child.wait();
  result.wall_s = seconds_since(begin_ns);
  if (stop) throw Interrupted{};  // Ctrl-C in a terminal also reaches the child
  if (end.signal != 0)
    raise("{} crashed: signal {} ({}). {}\nThe command was: {}", command[0], end.signal,
          strsignal(end.signal), last_words(result.err), fmt::join(command, " "));
  if (end.status != 0)
    raise("{} ended with status {}. {}\nThe command was: {}", command[0], end.status,
          last_words(result.err), fmt::join(command, " "));
  return result;
}

}  // namespace reprise
