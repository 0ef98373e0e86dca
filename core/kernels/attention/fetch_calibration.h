// Finds the prefetch setting with which attention reads fastest on this machine.
//
// The settings take turns. Each trial computes one layer's attention of a decode step: eight
// sequences in a paged KV cache (blocks of 64 tokens, head_dim 128), which are so long that each
// thread reads 4 MiB, or less on a machine with many threads or with little memory. Each trial
// reads another layer, so keys and values come from memory, not from the processor's caches.
#pragma once

#include "core/base/dtype.h"
#include "core/device/context.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

// Takes a few tenths of a second. Returns the default without measuring if an eighth of the free
// memory has no room for two layers. Returns the setting of REPRISE_FETCH without measuring if that
// variable is set.
Calibration<FetchSetting> calibrate_fetch(DType kv_dtype, const Context& context);

}  // namespace reprise::kernels
