// The clock of a run's times.
#pragma once

#include <chrono>

namespace reprise::experiments::serving {

class Clock {
 public:
  virtual ~Clock() = default;
  // Seconds since an arbitrary moment; never goes back.
  [[nodiscard]] virtual double now_s() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] double now_s() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace reprise::experiments::serving
