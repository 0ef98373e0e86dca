#include "checks/limit_beside.h"

#include <algorithm>
#include <chrono>

#include "checks/limit_share.h"

namespace reprise::checks {

Sample sample_beside_limit(const Bench& bench, const Benchmark& benchmark, const RunPlan& plan,
                           Limit limit) {
  constexpr double kProbe_s = 0.02;
  const auto start = std::chrono::steady_clock::now();
  const bool is_own = is_device_limit(limit);
  const double before = is_own ? 0.0 : bench.probe.measure(limit, kProbe_s);
  const Run run = run_benchmark(benchmark, plan, bench.stop);
  const double value = is_own ? device_limit(run.fastest, limit)
                              : std::max(before, bench.probe.measure(limit, kProbe_s));
  return {
      .time_s = run.fastest.time_s,
      .cpu_share = run.fastest.cpu_share,
      .limit = value,
      .limit_share = limit_share(run.fastest, limit, value),
      .wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace reprise::checks
