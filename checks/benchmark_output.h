// Reads the output of a Google Benchmark program with --benchmark_format=json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace reprise::checks {

// One repetition of one benchmark.
struct Repetition {
  std::string name;   // as --benchmark_list_tests prints it
  std::string label;  // set by SetLabel; "" if not
  // Time of one iteration: "real_time", which is the manual time for benchmarks that measure their
  // own time.
  double time_s = 0;
  // Share of time_s in which the benchmark's first thread was on a processor. A share well below 1
  // means that other programs took the processor, unless the benchmark itself waits.
  double cpu_share = 1;
  std::optional<double> bytes_per_s, flop_per_s;  // counters "B/s" and "FLOP/s"
  // For GPU benchmarks: the GPU's limits, measured in the same process, from the counters "device
  // B/s" and "device FLOP/s".
  std::optional<double> device_bytes_per_s, device_flop_per_s;
};

// Thrown if a benchmark skipped itself (SkipWithMessage), so it has no time.
class Skipped : public Error {
 public:
  using Error::Error;
};

// Returns the single repetitions in `text`, in order; means, medians and other aggregates are left
// out. `source` names the program in errors. Throws Error if `text` is not the JSON of Google
// Benchmark, a benchmark reported an error, or a time is not above 0, and Skipped.
std::vector<Repetition> parse_benchmark_output(std::string_view text, const std::string& source);

}  // namespace reprise::checks
