// Writes serving runs as Chrome's trace events, which Perfetto and chrome://tracing show.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/value.h"
#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// Each run is a process of the trace, and runs follow each other on the time axis. A run has a
// track with the engine's steps, a track with the kernels, and counters of the batch and of the KV
// cache. It also has a track for each request, with the spans "queued" (to its admission),
// "prefill" (to its first token), "decode" (to its last token) and "preempted" (between the tokens
// before and after a preemption).
class TraceWriter {
 public:
  // Throws Error naming the path if the file cannot be created.
  explicit TraceWriter(const std::filesystem::path& path);
  // Appends a run. Throws Error with the system's reason, such as a full disk.
  void add(const std::string& name, const RequestLog& log);
  // Completes the file and renames it to `path`. Must be called once, as the last call. Throws as
  // add().
  void finish();

 private:
  void write(Fields event);
  void add_request(const RequestEntry& entry);
  void add_step(const StepEntry& step);
  void add_kernels(const std::vector<KernelEntry>& kernels);
  void name_track(int64_t track, const std::string& name);
  void add_span(const char* category, const char* name, int64_t track, double begin_s, double end_s,
                Fields facts = {});
  // Converts a time in the run that is being added to microseconds on the time axis.
  [[nodiscard]] double at(double run_s) const { return (start_s_ + run_s) * 1e6; }

  AtomicFile file_;
  bool is_first_ = true;
  int64_t run_ = 0;     // number of the run that is being added
  double start_s_ = 0;  // start of run `run_` on the time axis
};

// Implemented, in addition to Kind, by a kind that serves requests.
class TracedKind {
 public:
  virtual ~TracedKind() = default;
  // Makes runs that end after this call be written to `writer`, which must outlive the runs.
  virtual void trace_to(TraceWriter& writer) { writer_ = &writer; }

 protected:
  void trace(const std::string& name, const RequestLog& log) const {
    if (writer_ != nullptr) writer_->add(name, log);
  }

 private:
  TraceWriter* writer_ = nullptr;
};

}  // namespace reprise::experiments::serving
