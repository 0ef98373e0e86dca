// Reads a file descriptor so that an interrupt ends the input. A read of std::cin that waits for
// input goes on waiting, because libstdc++ repeats reads that a signal has ended.
#pragma once

#include <array>
#include <atomic>
#include <streambuf>

namespace reprise::app {

class InterruptibleInput final : public std::streambuf {
 public:
  // Reads `file`, which stays open. The input ends when `stop` is set, also in the middle of a
  // line. in_avail() is positive if a read would not wait.
  InterruptibleInput(int file, const std::atomic<bool>& stop) : file_(file), stop_(stop) {}

 private:
  int_type underflow() override;
  std::streamsize showmanyc() override;

  int file_;
  const std::atomic<bool>& stop_;
  std::array<char, 65536> buffer_ = {};
};

}  // namespace reprise::app
