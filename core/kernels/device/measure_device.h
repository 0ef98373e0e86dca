// Measures the device of a context, for records.
#pragma once

#include <memory>
#include <optional>

#include "core/device/device_runtime.h"
#include "core/device/machine.h"

namespace reprise::kernels {

// Returns the facts of the runtime's device and its limits, which are measured in about a second.
// Returns nullopt if `runtime` is null, which means the CPU (see core/device/machine_probe.h).
std::optional<MachineDevice> measure_device(const std::shared_ptr<DeviceRuntime>& runtime);

}  // namespace reprise::kernels
