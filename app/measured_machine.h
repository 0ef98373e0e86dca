// The machine of records: facts, limits and calibrations.
#pragma once

#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Measures the limits of the device, if one computes, and of the processor and its memory, and
// calibrates the attention's prefetches. Takes about four seconds.
[[nodiscard]] Machine measured_machine(Context context);

}  // namespace reprise::app
