// Reads the steady clock in nanoseconds, and converts its times to milliseconds and seconds.
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

// Converts nanoseconds to milliseconds.
inline double ms_of(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// Seconds from a time of steady_now_ns() until now.
inline double seconds_since(int64_t begin_ns) {
  return static_cast<double>(steady_now_ns() - begin_ns) * 1e-9;
}

}  // namespace reprise
