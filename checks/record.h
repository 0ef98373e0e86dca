// Records a baseline.
#pragma once

#include "checks/comparison.h"

namespace reprise::checks {

struct RecordOptions {
  double budget_s = 20;  // seconds per benchmark; at least kLeastSamples are taken
  uint64_t seed = 1;     // for the order of the benchmarks in each round
};
inline constexpr int kLeastSamples = 12, kMostSamples = 40;

class RecordObserver {
 public:
  virtual ~RecordObserver() = default;
  virtual void planning(int benchmark, int of) = 0;  // see CheckObserver
  virtual void left_out(const Skipped& benchmark) = 0;
  virtual void recorded(int64_t samples, int64_t of) = 0;  // 0 before the first sample
};

// Samples all benchmarks in turns. Throws Error naming a benchmark that has neither counter "B/s"
// nor "FLOP/s", Skipped if no benchmark is left, and Interrupted if stopped.
std::vector<BaselineEntry> record(const std::vector<Benchmark>& benchmarks,
                                  const RecordOptions& options, const Bench& bench,
                                  RecordObserver& observer);

}  // namespace reprise::checks
