// Times kernels of a device other than the CPU with the device's clock.
#pragma once

#include <functional>
#include <memory>

#include "core/device/context.h"

namespace reprise::kernels {

class WorkTimer {
 public:
  virtual ~WorkTimer() = default;

  // Returns the microseconds that work() takes on the device. work() launches kernels and does not
  // wait. Before it, the device reads other memory, so that none of the kernels' data is in the
  // device's caches; this also keeps the device busy while the host launches. The clock has steps
  // of about 0.5 us.
  [[nodiscard]] virtual double cold_us(const std::function<void()>& work) = 0;

  // Returns the bandwidth in GB/s that the device reached when it read memory in the last
  // cold_us().
  [[nodiscard]] virtual double read_gb_s() const = 0;
};

// Makes a timer of the context's device. Returns null for the CPU, whose work callers time with the
// host's clock. Throws Error if the device has too little free memory.
std::unique_ptr<WorkTimer> make_work_timer(const Context& context);

}  // namespace reprise::kernels
