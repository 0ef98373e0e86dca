// Finds the prefetch with which a product of one row reads weights fastest on this machine: of each
// format in turn, matrices in memory, another one each time.
#pragma once

#include "core/base/weight_format.h"
#include "core/device/context.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

// Takes a few tenths of a second. If the free memory holds fewer than two matrices of 8 million
// weights, measures nothing and keeps the default. If REPRISE_WEIGHT_FETCH is set, returns it
// without measuring.
Calibration<WeightFetch> calibrate_weights(WeightFormat format, const Context& context);

}  // namespace reprise::kernels
