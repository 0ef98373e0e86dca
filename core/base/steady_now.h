// The time of the steady clock in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace reprise {

// Nanoseconds since an arbitrary moment; only differences are meaningful.
inline int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace reprise
