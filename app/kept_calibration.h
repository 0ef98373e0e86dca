// The calibration of this machine's prefetches, measured once and kept in the cache folder.
#pragma once

#include "app/common_options.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Reads the calibration that an earlier command kept for this processor, its memory's pages, these
// threads and this instruction set, and this build. If there is none, or with --fresh-calibration,
// measures it, which takes about a second, keeps it and says so. If REPRISE_FETCH or
// REPRISE_WEIGHT_FETCH is set, no file is read or written. A file that cannot be read or written is
// named in a note, and costs only that second.
[[nodiscard]] FetchChoices kept_calibration(const Context& context, const CommonOptions& options);

// The context with its kept calibration; unchanged for another device than the CPU.
[[nodiscard]] Context calibrated(Context context, const CommonOptions& options);

}  // namespace reprise::app
