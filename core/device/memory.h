// Memory of this process and of the machine, as the operating system reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
// The number of available bytes if the system tells none.
inline constexpr int64_t kUnknownBytes = std::numeric_limits<int64_t>::max();
// Number of bytes that can be allocated without swapping, and the limit that determines this
// number.
struct AvailableMemory {
  int64_t bytes = kUnknownBytes;
  // Text for the end of a sentence, such as " of the 2.000 GiB that ulimit -v allows"; "" if the
  // machine's memory is the limit.
  std::string limit_text;
};

// The least of three amounts: MemAvailable, and the memory that the limits of the control groups
// and of `ulimit -v` leave to this process.
AvailableMemory available_memory();
int64_t available_bytes();  // available_memory().bytes
// Throws MemoryError, with the limit and the remedy, if less is available.
void require_available(size_t bytes);
// Throws that MemoryError; `code` is the system's error.
[[noreturn]] void refuse_allocation(size_t bytes, int code);

}  // namespace reprise
