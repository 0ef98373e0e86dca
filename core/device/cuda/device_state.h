// Clock rates, temperature and power of an NVIDIA device, and what holds its clocks down: whether a
// time was taken by the device at its best.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::cuda {

// As NVML tells it; what a device does not tell is -1.
struct DeviceState {
  int sm_mhz = -1, memory_mhz = -1;
  int most_sm_mhz = -1, most_memory_mhz = -1;
  int temperature_c = -1;
  double power_w = -1, power_limit_w = -1;
  uint64_t throttle_reasons = 0;  // bits, see throttle_names()
};

// The reasons among the bits that make a time unlike that of an undisturbed device: power caps,
// heat, slow-downs. An idle device has low clocks for a reason of its own, which is none of these.
std::vector<std::string> throttle_names(uint64_t reasons);

// NVML, looked up when the program runs: it comes with the driver, and a machine without one can
// build and start all the same.
class DeviceMonitor {
 public:
  // Of the device at "0000:3B:00.0", as CUDA names its place on the bus. Where NVML or the device
  // is missing, absence() says why, and nothing throws.
  explicit DeviceMonitor(const std::string& pci_bus_id,
                         const std::string& library = "libnvidia-ml.so.1");
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // "" where it can be asked.
  [[nodiscard]] const std::string& absence() const { return absence_; }
  // Takes some milliseconds: between what is timed. Nothing is known where it is absent.
  [[nodiscard]] DeviceState state() const;
  // For records: the state, its throttle reasons by name; or {"absent": why}.
  [[nodiscard]] Json state_json() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
  std::string absence_;
};

}  // namespace reprise::cuda
