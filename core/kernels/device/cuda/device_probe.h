// Measures a CUDA device's highest bandwidths and arithmetic rates: the denominators of every
// "fraction of the limit".
#pragma once

#include <memory>

#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/device_state.h"
#include "core/device/machine.h"

namespace reprise::kernels::cuda {

struct DeviceLimits {
  double copy_gb_s = 0;      // copy within the device: bytes read plus bytes written
  double read_gb_s = 0;      // reading only; far more data than fits L2
  double l2_read_gb_s = 0;   // reading half of L2's size repeatedly
  double half_tflop_s = 0;   // the library's bf16 products of 8192^3 with f32 sums, on random
                             // numbers: with zeros a device computes faster
  double launch_us = 0;      // time per empty kernel when many are launched in a row
  double round_trip_us = 0;  // starting an empty kernel and waiting for it on the host
  double elapsed_s = 0;      // duration of the probe
};

// Each value is the best of several trials, because other work can only slow a trial down. Takes
// about a second, and about 3 GiB of the device's memory, or a quarter of the available memory if
// that is less.
DeviceLimits probe_device(const std::shared_ptr<reprise::cuda::CudaDevice>& device);

// Measures only read_gb_s and half_tflop_s, in a tenth of a second, so that a benchmark can measure
// both again and again while it runs.
DeviceLimits probe_rates(const std::shared_ptr<reprise::cuda::CudaDevice>& device);

// Makes a monitor of the device's clocks and of the reasons that limit them.
std::unique_ptr<reprise::cuda::DeviceMonitor> monitor_of(const reprise::cuda::CudaDevice& device);

// Returns what records keep: the device, its limits, its current clocks and the reasons that limit
// the clocks.
MachineDevice machine_device(const reprise::cuda::CudaDevice& device, const DeviceLimits& limits);

}  // namespace reprise::kernels::cuda
