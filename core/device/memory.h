// Process memory as the operating system and our own allocator see it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace reprise {

// The machine has not the memory that something needs.
class MemoryError : public Error {
 public:
  MemoryError(const std::string& text, double need_bytes) : Error(text), need_bytes_(need_bytes) {}
  [[nodiscard]] double need_bytes() const { return need_bytes_; }  // of what was refused

 private:
  double need_bytes_;
};

// Highest resident set of this process so far, in bytes (VmHWM). 0 where the system does not tell.
int64_t peak_resident_bytes();
// Resident set now, in bytes.
int64_t resident_bytes();
// Memory that can be had without swapping, in bytes (MemAvailable, or the cgroup's limit where that
// is lower).
int64_t available_bytes();

}  // namespace reprise
