// Clock rates, temperature and power of an NVIDIA device, and the reasons that hold its clocks
// down. They show whether the device ran at full speed while some work was timed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/value.h"

namespace reprise::cuda {

// The state that NVML reports; -1 for a value that the device does not report.
struct DeviceState {
  int sm_mhz = -1, memory_mhz = -1;
  int most_sm_mhz = -1, most_memory_mhz = -1;
  int temperature_c = -1;
  double power_w = -1, power_limit_w = -1;
  uint64_t throttle_reasons = 0;  // bits, see throttle_names()
};

// The names of the bits in `reasons` that slow down work: power caps, heat, slow-downs. Leaves out
// the low clocks of an idle device.
std::vector<std::string> throttle_names(uint64_t reasons);

// Reads the state through NVML. NVML is loaded at run time, because it comes with the driver and
// the program must also build and start on machines without a driver.
class DeviceMonitor {
 public:
  // Monitors the device at `pci_bus_id`, such as "0000:3B:00.0" as CUDA writes it. Throws nothing:
  // if NVML or the device is missing, absence() says why.
  explicit DeviceMonitor(const std::string& pci_bus_id,
                         const std::string& library = "libnvidia-ml.so.1");
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // Why the device cannot be monitored; "" if it can.
  [[nodiscard]] const std::string& absence() const { return absence_; }
  // Takes some milliseconds, so call it between timed pieces of work. All fields are -1 if
  // absence() is not "".
  [[nodiscard]] DeviceState state() const;
  // Returns the state as records store it, with throttle reasons by name, or {"absent": absence()}
  // if the device cannot be monitored.
  [[nodiscard]] Fields state_fields() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
  std::string absence_;
};

}  // namespace reprise::cuda
