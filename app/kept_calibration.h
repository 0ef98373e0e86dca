// The calibration of this machine's prefetches, measured once and kept in the cache folder.
#pragma once

#include "app/common_options.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Reads the calibration that an earlier command kept for the same processor, page size, threads,
// instruction set and build. If there is none, or with --fresh-calibration, measures it in about a
// second, keeps it and prints a note. If REPRISE_FETCH or REPRISE_WEIGHT_FETCH is set, no file is
// read or written. A file that cannot be read or written is no error: a note names it, and the
// calibration is measured.
[[nodiscard]] FetchChoices kept_calibration(const Context& context, const CommonOptions& options);

// The context with kept_calibration() applied, if it computes on the CPU; otherwise unchanged.
[[nodiscard]] Context calibrated(Context context, const CommonOptions& options);

}  // namespace reprise::app
