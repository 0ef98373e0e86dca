// A pipe whose ends close by themselves.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace reprise {

// The destructor closes both ends. A program that is started inherits neither.
class Pipe {
 public:
  // Throws Error if the system has no more files.
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) raise("cannot make a pipe: {}", std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int& end : ends_) close_end(end);
  }
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_write_end() { close_end(ends_[1]); }
  // Closes a file descriptor and sets it to -1; does nothing with -1.
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace reprise
