// The description of the machine that records contain: facts, limits and calibrations.
#pragma once

#include <cstdint>

#include "app/common_options.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Measures the limits of the context's device, if it has one, and of the processor and its memory
// (about four seconds), and adds the kept_calibration().
[[nodiscard]] Machine measured_machine(Context context, const CommonOptions& options);

// Free bytes for the points of an experiment: in the memory of the context's device, if it has one,
// otherwise in the system's memory.
[[nodiscard]] int64_t available_bytes_for(const Context& context);

}  // namespace reprise::app
