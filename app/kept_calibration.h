// The calibration of prefetches on this machine. It is measured once and kept in the cache folder
// for later commands.
#pragma once

#include "app/common_options.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::app {

// Reads the calibration that an earlier command kept for the same processor, page size, threads,
// instruction set and build. If there is none, or with --fresh-calibration, measures a calibration
// in one to a few seconds, keeps it and prints a note. If REPRISE_FETCH or REPRISE_WEIGHT_FETCH is
// set, reads and writes no file. If the file cannot be read or written, measures the calibration
// and prints a note that names the file.
[[nodiscard]] FetchChoices kept_calibration(const Context& context, const CommonOptions& options);

// Returns the context, with kept_calibration() applied if the context computes on the CPU.
[[nodiscard]] Context calibrated(Context context, const CommonOptions& options);

}  // namespace reprise::app
