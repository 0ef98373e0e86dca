// Times kernels of a device other than the CPU with the device's clock.
#pragma once

#include <functional>
#include <memory>

#include "core/device/context.h"

namespace reprise::kernels {

class WorkTimer {
 public:
  virtual ~WorkTimer() = default;

  // Microseconds of work(), which launches kernels and does not wait. The device reads memory
  // first, so that nothing the kernels read is in the device's caches; this also keeps the device
  // busy while the host launches. The clock has steps of about 0.5 us.
  [[nodiscard]] virtual double cold_us(const std::function<void()>& work) = 0;

  // GB/s of that read of memory in the last call: the bandwidth the device reached at the time.
  [[nodiscard]] virtual double read_gb_s() const = 0;
};

// A timer of the context's device; null on the CPU, which uses the host's clock. Throws Error if
// the device's memory is short.
std::unique_ptr<WorkTimer> make_work_timer(const Context& context);

}  // namespace reprise::kernels
