// Finds the prefetch setting with which attention reads fastest on this machine.
//
// Every setting in turn runs a decode step of eight sequences, each with a paged cache in memory
// (blocks of 64 tokens, heads of 128), on other keys each time.
#pragma once

#include "core/base/dtype.h"
#include "core/device/context.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

// Takes a few tenths of a second. If an eighth of the free memory holds fewer than two layers,
// keeps the default unmeasured. If REPRISE_FETCH is set, returns it without measuring.
Calibration<FetchSetting> calibrate_fetch(DType kv_dtype, const Context& context);

}  // namespace reprise::kernels
