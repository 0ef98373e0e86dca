#include "checks/benchmark_output.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::checks {
namespace {

double cpu_share_of(JsonObject& run) {
  return std::clamp(run.number("cpu_time", 0) / run.number("real_time"), 0.0, 1.0);
}

double seconds_of(JsonObject& run, const std::string& source) {
  const std::string unit = run.string("time_unit");
  const double time = run.number("real_time");
  if (time <= 0)
    raise("{} reported a time of {} {} for {}; a benchmark must do some work in each iteration",
          source, time, unit, run.string("name"));
  if (unit == "ns") return time * 1e-9;
  if (unit == "us") return time * 1e-6;
  if (unit == "ms") return time * 1e-3;
  if (unit == "s") return time;
  raise("{} is {}; ns, us, ms and s are known", run.where("time_unit"), unit);
}

std::optional<double> rate_of(JsonObject& run, const std::string& counter) {
  if (!run.has(counter)) return std::nullopt;
  const double rate = run.number(counter);
  if (rate <= 0) raise("{} must be above 0, found {}", run.where(counter), rate);
  return rate;
}

Repetition repetition_of(JsonObject& run, const std::string& source) {
  const std::string name = run.has("run_name") ? run.string("run_name") : run.string("name");
  if (run.boolean("error_occurred", false))
    raise("{}: benchmark {} stopped with an error: {}", source, name,
          run.string("error_message", "it gave no message"));
  if (run.boolean("skipped", false))
    throw Skipped(fmt::format("{}: benchmark {} skips itself: {}", source, name,
                              run.string("skip_message", "it gave no message")));
  return {.name = name,
          .label = run.string("label", ""),
          .time_s = seconds_of(run, source),
          .cpu_share = cpu_share_of(run),
          .bytes_per_s = rate_of(run, "B/s"),
          .flop_per_s = rate_of(run, "FLOP/s"),
          .device_bytes_per_s = rate_of(run, "device B/s"),
          .device_flop_per_s = rate_of(run, "device FLOP/s")};
}

}  // namespace

std::vector<Repetition> parse_benchmark_output(std::string_view text, const std::string& source) {
  const std::string what = "the output of " + source;
  const Value json = parse_json(text, what);
  JsonObject root(json, what);
  const Values& runs = root.list("benchmarks");
  std::vector<Repetition> repetitions;
  for (size_t i = 0; i < runs.size(); ++i) {
    JsonObject run(runs[i], what, fmt::format("benchmarks[{}]", i));
    if (run.string("run_type", "iteration") != "iteration") continue;  // skip aggregates
    repetitions.push_back(repetition_of(run, source));
  }
  return repetitions;
}

}  // namespace reprise::checks
