// Measures the device of a context, for records.
#pragma once

#include <memory>
#include <optional>

#include "core/device/device_runtime.h"
#include "core/device/machine.h"

namespace reprise::kernels {

// The device's facts and its limits, measured in about a second. nullopt for a null runtime (the
// CPU, see core/device/machine_probe.h).
std::optional<MachineDevice> measure_device(const std::shared_ptr<DeviceRuntime>& runtime);

}  // namespace reprise::kernels
