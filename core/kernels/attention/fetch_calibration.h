// Finds the prefetch setting with which attention reads fastest on this machine.
//
// The settings take turns at the attention of one layer of a decode step: eight sequences of 1024
// tokens in a paged cache (blocks of 64 tokens, heads of 128). Each trial reads another layer, so
// keys and values come from memory, not from a cache.
#pragma once

#include "core/base/dtype.h"
#include "core/device/context.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

// Takes a few tenths of a second. If an eighth of the free memory holds fewer than two layers,
// keeps the default unmeasured. If REPRISE_FETCH is set, returns it without measuring.
Calibration<FetchSetting> calibrate_fetch(DType kv_dtype, const Context& context);

}  // namespace reprise::kernels
