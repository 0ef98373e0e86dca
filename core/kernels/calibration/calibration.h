// Runs all prefetch calibrations on this machine, and returns them in the form that records keep.
#pragma once

#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::kernels {

// Measures which prefetch settings make attention and matrix products fastest on this machine.
// Takes one to a few seconds.
FetchChoices calibrate(const Context& context);

// Returns `context` with the prefetch settings of `choices`, or of the `fetch` field of `machine`.
// Settings that are absent there stay as they are in `context`. Throws Error naming the key of a
// malformed setting.
Context with_calibration(Context context, const FetchChoices& choices);
Context with_calibration(Context context, const Machine& machine);

}  // namespace reprise::kernels
