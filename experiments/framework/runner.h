// Runs an experiment: plans its points, skips those a folder holds already, measures the rest, and
// writes each group before the next begins.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <vector>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/sweep.h"

namespace reprise::experiments {

struct RunOptions {
  std::filesystem::path out;
  bool fresh = false;  // set older results aside instead of going on with them
  RunSettings settings;
  std::function<Json()> measure_machine;  // facts and limits; asked once for a folder and machine
};

// Told what happens, in the order it happens. Counts are points.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `torn_bytes` of an interrupted write were dropped from the records found.
  virtual void planned(int64_t points, int64_t present, int64_t torn_bytes) = 0;
  virtual void machine_wanted() = 0;
  virtual void started(const Group& group) = 0;
  virtual void finished(const Group& group, const std::vector<Json>& records) = 0;
};

struct RunOutcome {
  std::vector<Json> records;  // of the plan, in its order, those of earlier runs included
  int64_t points = 0;
  bool was_interrupted = false;
};

// Moves the methods that the kind cannot run in this program to experiment.left_out, so that the
// rest can be measured without them; the manifest and the records name what is left out. Throws
// Error, with the remedy, where the first method is missing: speedups are counted against it.
void leave_out_missing(Experiment& experiment, const Kind& kind);

// Throws Error when a group cannot run or the folder cannot be used. What was measured before is on
// disk then, and the same command goes on from there; the message says so.
RunOutcome run_experiment(const Experiment& experiment, const RunOptions& options, Kind& kind,
                          RunObserver& observer, const std::atomic<bool>& stop);

}  // namespace reprise::experiments
