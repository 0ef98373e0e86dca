// Runs an experiment, or one process's part of it: plans its points, leaves out those a folder
// holds already, measures the rest, and writes each group before the next begins.
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

namespace reprise::experiments {

struct RunOptions {
  std::filesystem::path out;
  bool fresh = false;  // set older results aside instead of going on with them
  bool mix = false;    // go on with results of other code, machines or weights, and mark the rest
  RunSettings settings;
  std::function<Json()> measure_machine;  // facts and limits; asked once for a folder and machine
  // Fingerprints of what is read, as results::identity_json() takes them.
  Json sources = Json::object();
  Shard shard;  // the part of this process
  // Memory that the points may take, asked once before the first; 0: nobody knows, try them all.
  std::function<int64_t()> available_bytes = reprise::available_bytes;
};

// Why a group is not measured on this machine, now.
struct MemoryLack {
  double need_bytes = 0, available_bytes = 0;
  std::string of_what;

  [[nodiscard]] std::string text() const;  // "needs 3.10 GiB (...), 2.00 GiB are available"
};

// Told what happens, in the order it happens. Counts are points.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Of this process's part. `torn_bytes` of an interrupted write were dropped from the records
  // found.
  virtual void planned(int64_t points, int64_t present, int64_t torn_bytes) = 0;
  virtual void machine_wanted() = 0;
  virtual void started(const Group& group) = 0;
  virtual void finished(const Group& group, const std::vector<Json>& records) = 0;
  virtual void skipped(const Group& group, const MemoryLack& lack) = 0;
};

struct RunOutcome {
  std::vector<Json>
      records;  // of the plan, in its order, those of earlier runs and others included
  // Points that did not fit into memory, here or where another process ran, and that nobody has
  // measured: {point, group, label, method, need_bytes, available_bytes, reason}.
  std::vector<Json> skipped;
  int64_t points = 0;    // of the whole plan
  int64_t measured = 0;  // by this run
  bool was_interrupted = false;

  [[nodiscard]] bool is_complete() const {
    return static_cast<int64_t>(records.size() + skipped.size()) >= points;
  }
};

// Moves the methods that the kind cannot run in this program to experiment.left_out, so that the
// rest can be measured without them; the manifest and the records name what is left out. Throws
// Error, with the remedy, where the first method is missing: speedups are counted against it.
void leave_out_missing(Experiment& experiment, const Kind& kind);

// A group that does not fit into memory is skipped and listed with its need; a later run, on a
// larger machine or with more memory free, measures it. Of several processes, each returns when its
// part is done and no other has a group in flight that it might have to take over.
//
// Throws Error when a group cannot run on any machine or the folder cannot be used. What was
// measured before is on disk then, and the same command goes on from there; the message says so.
RunOutcome run_experiment(const Experiment& experiment, const RunOptions& options, Kind& kind,
                          RunObserver& observer, const std::atomic<bool>& stop);

}  // namespace reprise::experiments
