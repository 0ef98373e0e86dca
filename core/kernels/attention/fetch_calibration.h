// Which way of fetching ahead reads fastest on this machine, measured with the attention kernel
// itself.
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/device/context.h"

namespace reprise::kernels {

struct FetchTrial {
  FetchSetting setting;
  double read_gb_s = 0;  // median
  double speedup = 1;    // over the default, median of the rounds' ratios
  int rounds = 0;        // the fastest after some rounds are measured in more
};

struct FetchCalibration {
  FetchSetting chosen;
  std::vector<FetchTrial> trials;  // the first is the default; empty where nothing was measured
  std::string reason;              // why this one
  double elapsed_s = 0;
};

// Times one decode step of eight sequences, each with a paged cache of its own (blocks of 64
// tokens, heads of 128), that lies in memory: for every setting in turn, on other keys each time,
// in several rounds, the fastest ones in more. The default stays unless another is faster by more
// than kLeastGain. Takes below 1 s and an eighth of the free memory at most; with less than a step
// takes there, nothing is measured. Where REPRISE_FETCH is set, that is chosen unmeasured.
FetchCalibration calibrate_fetch(DType kv_dtype, const Context& context);
inline constexpr double kLeastGain = 1.01;

// For both dtypes, as it stands in records: {"bf16": {chosen, reason, trials: [{setting, read_gb_s,
// speedup, rounds}], elapsed_s}, "f32": ...}.
Json calibrate_fetch(const Context& context);
// The context with what a record's machine chose; as it is where the machine's JSON has none.
// Throws Error naming the key of what is no setting.
Context with_calibration(Context context, const Json& machine);

}  // namespace reprise::kernels
