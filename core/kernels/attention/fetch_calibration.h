// Finds the prefetch setting that reads fastest on this machine, measured with the attention
// kernel.
//
// Every setting in turn runs a decode step of eight sequences, each with a paged cache in memory
// (blocks of 64 tokens, heads of 128), on other keys each time, in several rounds. The fastest
// settings get more rounds.
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/context.h"
#include "core/device/machine.h"

namespace reprise::kernels {

struct FetchTrial {
  FetchSetting setting;
  double read_gb_s = 0;  // median
  double speedup = 1;    // against the default: median of the rounds' ratios
  int rounds = 0;        // the fastest settings are measured in more rounds
};

struct FetchCalibration {
  FetchSetting chosen;
  std::vector<FetchTrial> trials;  // the first is the default; empty if nothing was measured
  std::string reason;              // why this setting was chosen
  double elapsed_s = 0;
};

// Keeps the default unless another setting is faster by more than kLeastGain. Takes less than 1 s
// and at most an eighth of the free memory; if that holds fewer than two layers, measures nothing.
// If REPRISE_FETCH is set, returns it without measuring.
FetchCalibration calibrate_fetch(DType kv_dtype, const Context& context);
inline constexpr double kLeastGain = 1.01;

// Calibrates both dtypes, for records.
FetchChoices calibrate_fetch(const Context& context);
// The context with the settings that a record's machine holds, or unchanged if it has none. Throws
// Error naming the key of a malformed setting.
Context with_calibration(Context context, const Machine& machine);

}  // namespace reprise::kernels
