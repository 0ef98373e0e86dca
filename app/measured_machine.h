// The machine of records: facts, limits and calibrations.
#pragma once

#include <cstdint>

#include "app/common_options.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Measures the limits of the device, if one computes, and of the processor and its memory (about
// four seconds), and adds the kept_calibration().
[[nodiscard]] Machine measured_machine(Context context, const CommonOptions& options);

// Bytes that points may take: of the device's memory, if one computes, else of the system's.
[[nodiscard]] int64_t available_bytes_for(const Context& context);

}  // namespace reprise::app
