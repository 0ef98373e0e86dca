// Pipes and socket pairs whose ends are closed by the destructor.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/error.h"

namespace reprise {

// A pipe or a pair of sockets. The destructor closes both ends. Programs that this process starts
// do not inherit them.
class Pipe {
 public:
  enum class Kind : uint8_t {
    kPipe,
    kSockets  // a pair of sockets, on which send() can suppress SIGPIPE (MSG_NOSIGNAL)
  };
  // Throws Error if the system has no file descriptors left.
  explicit Pipe(Kind kind = Kind::kPipe) {
    const int status = kind == Kind::kPipe
                           ? pipe2(ends_.data(), O_CLOEXEC)
                           : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data());
    if (status != 0) raise("cannot make a pipe: {}", std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int& end : ends_) close_end(end);
  }
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_read_end() { close_end(ends_[0]); }
  void close_write_end() { close_end(ends_[1]); }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace reprise
