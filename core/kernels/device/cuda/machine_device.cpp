#include <fmt/format.h>

#include "core/device/cuda/check.h"
#include "core/kernels/device/cuda/device_probe.h"
#include "core/kernels/device/cuda/timing.h"

namespace reprise::kernels::cuda {

using reprise::cuda::CudaDevice;

std::unique_ptr<reprise::cuda::DeviceMonitor> monitor_of(const CudaDevice& device) {
  char place[32] = {};
  reprise::cuda::check_cuda(cudaDeviceGetPCIBusId(place, sizeof place, device.facts().ordinal),
                            "cudaDeviceGetPCIBusId");
  return std::make_unique<reprise::cuda::DeviceMonitor>(place);
}

MachineDevice machine_device(const CudaDevice& device, const DeviceLimits& limits) {
  const reprise::cuda::DeviceFacts& facts = device.facts();
  return {.name = facts.name,
          .compute_capability = fmt::format("{}.{}", facts.major, facts.minor),
          .sms = facts.sms,
          .memory_bytes = facts.memory_bytes,
          .l2_bytes = l2_bytes(device),
          .state = monitor_of(device)->state_fields(),
          .limits = {{"copy_gb_s", limits.copy_gb_s},
                     {"read_gb_s", limits.read_gb_s},
                     {"l2_read_gb_s", limits.l2_read_gb_s},
                     {"half_tflop_s", limits.half_tflop_s},
                     {"launch_us", limits.launch_us},
                     {"round_trip_us", limits.round_trip_us},
                     {"probe_s", limits.elapsed_s}}};
}

}  // namespace reprise::kernels::cuda
