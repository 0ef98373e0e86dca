// Measures the device of a context, for records.
#pragma once

#include <memory>

#include "core/base/json.h"
#include "core/device/device_runtime.h"

namespace reprise::kernels {

// JSON with the device's name, memory, clocks and what holds them down, and its limits, measured in
// about a second: "limits" has copy_gb_s, read_gb_s, l2_read_gb_s, half_tflop_s, launch_us,
// round_trip_us. Null for a null runtime (the CPU, see core/device/machine_probe.h).
Json measure_device(const std::shared_ptr<DeviceRuntime>& runtime);

}  // namespace reprise::kernels
