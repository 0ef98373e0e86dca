// Runs an experiment, or the part of it that this process measures. Skips points whose records are
// in the results folder already, measures the other points, and writes each group's records before
// the next group begins.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/memory.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/shard.h"
#include "experiments/framework/sweep.h"
#include "results/store.h"

namespace reprise::experiments {

struct RunOptions {
  std::filesystem::path out;
  bool fresh = false;  // moves older results out of the way instead of continuing them
  // True: continues results even if code, machine or weights were different, and marks the results
  // as mixed.
  bool mix = false;
  RunSettings settings;
  std::string gpu;  // DeviceRuntime::description() of the GPU that computes; "": none does
  std::function<Machine()> measure_machine;  // called once per folder and machine
  bool fresh_machine = false;   // calls measure_machine also if an earlier run kept the machine
  bool measures_limits = true;  // false: measure_machine only looks facts up, which takes no time
  // Fingerprints of the input files, in the form of results::identity_fields().
  Fields sources;
  Shard shard;  // this process's part
  // Returns the bytes of memory that points may take; called once, before the first point. If they
  // are not known, it returns the largest number, so that no point is skipped.
  std::function<int64_t()> available_bytes = reprise::available_bytes;
};

// Returns the beginning of a sentence that ends in "goes on from there": the command that goes on
// with a run that ended early. With `fresh`, the same command would begin again.
inline std::string_view command_that_goes_on(const RunOptions& options) {
  return options.fresh ? "The same command without --fresh" : "The same command";
}

// Describes why a group is skipped: it needs more memory than is available.
struct MemoryLack {
  double need_bytes = 0;
  std::optional<double> available_bytes;  // nullopt: not known
  std::string of_what;

  [[nodiscard]] std::string text() const;  // e.g. "needs 3.10 GiB (...), 2.00 GiB are available"
};

// Receives the events of a run in order. The functions of this base class do nothing. Counts are
// numbers of points.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `points` and `present` count the points of this process's part, and among them those already
  // measured. `torn_bytes`: bytes dropped from the end of this process's file of records, because
  // an earlier write was interrupted.
  virtual void planned(int64_t /*points*/, int64_t /*present*/, int64_t /*torn_bytes*/) {}
  virtual void machine_wanted() {}  // the machine's limits are about to be measured
  virtual void started(const Group& /*group*/) {}
  // See Kind::tell_by().
  virtual void doing(const std::string& /*what*/) {}
  // A group was measured by this process, or, if this process is one of several ranks, by any rank.
  virtual void finished(const Group& /*group*/, const std::vector<results::Record>& /*records*/) {}
  virtual void skipped(const Group& /*group*/, const MemoryLack& /*lack*/) {}
};

struct RunOutcome {
  // Records of the plan's points, in the order of the plan. Includes records of earlier runs and of
  // other processes.
  std::vector<results::Record> records;
  // Points that did not fit into memory, here or in another process, and that no process has
  // measured.
  std::vector<results::SkippedPoint> skipped;
  int64_t points = 0;    // points in the whole plan
  int64_t measured = 0;  // points measured by this run
  bool was_interrupted = false;

  [[nodiscard]] bool is_complete() const {
    return static_cast<int64_t>(records.size() + skipped.size()) >= points;
  }
};

// Moves the methods that the kind cannot run in this program to experiment.left_out, so that the
// other methods can be measured. Manifest and records list the methods left out. Throws Error, with
// the remedy, if the first method is missing, since speedups refer to it.
void leave_out_missing(Experiment& experiment, const Kind& kind);

// Runs the experiment by its plan. A group that does not fit into memory is skipped and listed; a
// later run may measure it.
// If there are several processes, returns when this process's part is done and no other process
// works on a group that this process might have to take over.
// Throws Error if a group cannot run on any machine or the folder cannot be used. Results written
// before remain, and the same command continues from them.
RunOutcome run_experiment(const Experiment& experiment, const Plan& plan, const RunOptions& options,
                          Kind& kind, RunObserver& observer, const std::atomic<bool>& stop);

}  // namespace reprise::experiments
