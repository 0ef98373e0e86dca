// What a Google Benchmark program prints with --benchmark_format=json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::checks {

// One repetition of one benchmark.
struct Repetition {
  std::string name;   // as --benchmark_list_tests prints it
  std::string label;  // what the benchmark set with SetLabel, "" if nothing
  double time_s = 0;  // of one iteration: the benchmark's "real_time", which is manual time for
                      // benchmarks that take their own
  // Of that time, how much its first thread was on a processor: well below 1 where other programs
  // took its place, unless the benchmark waits for something by itself.
  double cpu_share = 1;
  std::optional<double> bytes_per_s, flop_per_s;  // counters "B/s" and "FLOP/s"
  // Of a benchmark that runs on a GPU: what the GPU reaches, measured in the same process. Counters
  // "device B/s" and "device FLOP/s".
  std::optional<double> device_bytes_per_s, device_flop_per_s;
};

// The repetitions in `text`, aggregates left out. `source` names the program in errors. Throws
// Error for text that is no such JSON, a benchmark that reported an error, and a time that is not
// above 0.
std::vector<Repetition> parse_benchmark_output(std::string_view text, const std::string& source);

}  // namespace reprise::checks
