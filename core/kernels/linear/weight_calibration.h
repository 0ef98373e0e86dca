// Finds the prefetch with which a product of one row reads weights of one format fastest. The
// settings take turns, each on another matrix in memory.
#pragma once

#include "core/base/weight_format.h"
#include "core/device/context.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

// Takes a few tenths of a second. If an eighth of the free memory holds fewer than two matrices of
// 8 million weights, keeps the default unmeasured. If REPRISE_WEIGHT_FETCH is set, returns it
// without measuring.
Calibration<WeightFetch> calibrate_weights(WeightFormat format, const Context& context);

}  // namespace reprise::kernels
