// What the device of a context is and reaches at most, as records keep it.
#pragma once

#include <memory>

#include "core/base/json.h"
#include "core/device/device_runtime.h"

namespace reprise::kernels {

// Name, memory, clocks and what holds them down; its limits, measured in about a second: "limits"
// has copy_gb_s, read_gb_s, l2_read_gb_s, half_tflop_s, launch_us, round_trip_us. Null for the CPU
// (a null runtime), which core/device/machine_probe.h is for.
Json measure_device(const std::shared_ptr<DeviceRuntime>& runtime);

}  // namespace reprise::kernels
