// Memory of this process and of the machine, as the operating system reports it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace reprise {

// Thrown if the machine lacks the memory for an allocation.
class MemoryError : public Error {
 public:
  MemoryError(const std::string& text, double need_bytes) : Error(text), need_bytes_(need_bytes) {}
  [[nodiscard]] double need_bytes() const { return need_bytes_; }  // bytes that were asked for

 private:
  double need_bytes_;
};

// The largest resident set of this process so far, in bytes (VmHWM); 0 if it is not reported.
int64_t peak_resident_bytes();
// The resident set now, in bytes.
int64_t resident_bytes();
// Bytes that can be allocated without swapping, and the limit that decides them.
struct AvailableMemory {
  int64_t bytes = 0;
  // For the end of a sentence: " of the 2.000 GiB that ulimit -v allows"; "" if the machine's
  // memory decides.
  std::string limit_text;
};

// The least of MemAvailable and what the limits of the control group and of `ulimit -v` leave.
AvailableMemory available_memory();
int64_t available_bytes();  // available_memory().bytes

}  // namespace reprise
