// What a CUDA device can do at most, measured: the denominators of every "fraction of the limit".
#pragma once

#include <memory>

#include "core/base/json.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/device_state.h"

namespace reprise::kernels::cuda {

struct DeviceLimits {
  double copy_gb_s = 0;      // device to device: bytes read and bytes written
  double read_gb_s = 0;      // read alone, far more than L2 holds
  double l2_read_gb_s = 0;   // read again and again, half of what L2 holds
  double half_tflop_s = 0;   // bf16 products of 8192^3 with f32 sums, by the library; random
                             // numbers, of which a device computes fewer than of zeros
  double launch_us = 0;      // of an empty kernel among others: what a further kernel costs a step
  double round_trip_us = 0;  // starting an empty kernel and waiting for it, on the host
  double elapsed_s = 0;      // that the probe took
};

// Each figure is the best of several trials: disturbance only slows. Takes some 3 GiB of the
// device's memory, or a quarter of what there is, for about a second.
DeviceLimits probe_device(const std::shared_ptr<reprise::cuda::CudaDevice>& device);

// The two that judge a kernel, quickly (a tenth of a second): to be taken beside a benchmark.
DeviceLimits probe_rates(const std::shared_ptr<reprise::cuda::CudaDevice>& device);

// Of the driver: what the clocks are, and why.
std::unique_ptr<reprise::cuda::DeviceMonitor> monitor_of(const reprise::cuda::CudaDevice& device);

// As it stands in records: the device, its limits, its clocks now and what holds them down.
Json device_json(const reprise::cuda::CudaDevice& device, const DeviceLimits& limits);

}  // namespace reprise::kernels::cuda
