// Times kernels of a device other than the CPU by its own clock.
#pragma once

#include <functional>
#include <memory>

#include "core/device/context.h"

namespace reprise::kernels {

class WorkTimer {
 public:
  virtual ~WorkTimer() = default;

  // Microseconds of work(), which gives kernels to the device and does not wait. Nothing that they
  // read lies in the device's caches before: its memory is read meanwhile, which also keeps it busy
  // while the host hands the kernels over. Clocks step by some 0.5 us.
  [[nodiscard]] virtual double cold_us(const std::function<void()>& work) = 0;

  // GB/s of that read of memory, the last time: what the device reached in this moment.
  [[nodiscard]] virtual double read_gb_s() const = 0;
};

// Of the context's device; null on the CPU, whose clock is the host's. Throws Error where the
// device's memory is short.
std::unique_ptr<WorkTimer> make_work_timer(const Context& context);

}  // namespace reprise::kernels
