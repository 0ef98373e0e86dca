// All calibrations of this machine, as records keep them.
#pragma once

#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::kernels {

// How far ahead attention and products prefetch. Takes about a second.
FetchChoices calibrate(const Context& context);

// The context with the settings of these choices, or of a record's machine; unchanged where there
// are none. Throws Error naming the key of a malformed setting.
Context with_calibration(Context context, const FetchChoices& choices);
Context with_calibration(Context context, const Machine& machine);

}  // namespace reprise::kernels
