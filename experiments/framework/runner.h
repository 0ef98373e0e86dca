// Runs an experiment, or one process's part of it: plans its points, skips those that the folder
// already holds, measures the rest, and writes each group before the next begins.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
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
  bool fresh = false;  // set older results aside instead of continuing them
  // Continue results of other code, machines or weights, and mark them as mixed.
  bool mix = false;
  RunSettings settings;
  std::function<Machine()> measure_machine;  // called once per folder and machine
  // Fingerprints of the input files, in the form of results::identity_fields().
  Fields sources;
  Shard shard;  // this process's part
  // Returns the memory that points may take; called once before the first. 0: unknown, so all are
  // tried.
  std::function<int64_t()> available_bytes = reprise::available_bytes;
};

// The reason why a group is skipped: it needs more memory than is available.
struct MemoryLack {
  double need_bytes = 0, available_bytes = 0;
  std::string of_what;

  [[nodiscard]] std::string text() const;  // e.g. "needs 3.10 GiB (...), 2.00 GiB are available"
};

// Receives the events of a run in order; this one ignores them. Counts are numbers of points.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `points` and `present` count this process's part. `torn_bytes`: bytes dropped from the end of
  // its file because a write had been interrupted.
  virtual void planned(int64_t /*points*/, int64_t /*present*/, int64_t /*torn_bytes*/) {}
  virtual void machine_wanted() {}
  virtual void started(const Group& /*group*/) {}
  // See Kind::tell_by().
  virtual void doing(const std::string& /*what*/) {}
  // A group was measured: by this process, or, if this process is a rank, by any rank.
  virtual void finished(const Group& /*group*/, const std::vector<results::Record>& /*records*/) {}
  virtual void skipped(const Group& /*group*/, const MemoryLack& /*lack*/) {}
};

struct RunOutcome {
  // Records of the plan, in the order of the plan, including those of earlier runs and other
  // processes.
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
// later run may measure it. One of several processes returns when its part is done and no other
// process holds a group that it might have to take over. Throws Error if a group cannot run on any
// machine or the folder cannot be used; results so far are on disk, and the same command continues
// from there.
RunOutcome run_experiment(const Experiment& experiment, const Plan& plan, const RunOptions& options,
                          Kind& kind, RunObserver& observer, const std::atomic<bool>& stop);

}  // namespace reprise::experiments
