// All calibrations of this machine, as records keep them.
#pragma once

#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::kernels {

// Measures how far ahead attention and matrix products should prefetch. Takes about a second.
FetchChoices calibrate(const Context& context);

// Returns `context` with the prefetch settings of `choices`, or of a record's machine. Absent
// settings stay as they are. Throws Error naming the key of a malformed setting.
Context with_calibration(Context context, const FetchChoices& choices);
Context with_calibration(Context context, const Machine& machine);

}  // namespace reprise::kernels
