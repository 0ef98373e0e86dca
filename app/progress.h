// Shows how far a run has come. On a terminal it is one line that is rewritten; elsewhere there is
// a plain line for each point.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "experiments/framework/runner.h"

namespace reprise::app {

class Progress : public experiments::RunObserver {
 public:
  // Writes to `out`, in the form for a terminal if `is_terminal`. Shows no running clock while a
  // point is measured, because that would take processor time from the measurement.
  Progress(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  void planned(int64_t points, int64_t present, int64_t torn_bytes) override;
  void machine_wanted() override;
  void started(const experiments::Group& group) override;
  // Writes at most once a second on a terminal, and once a minute elsewhere, so that logs stay
  // short.
  void doing(const std::string& what) override;
  void finished(const experiments::Group& group,
                const std::vector<results::Record>& records) override;
  void skipped(const experiments::Group& group, const experiments::MemoryLack& lack) override;
  void end();  // removes the line, so that other output can follow

 private:
  // Shows that point `number`, counted from 1, is being measured, or is the last measured point.
  void show(const std::string& label, int64_t number);
  [[nodiscard]] int64_t current() const { return std::min(done_ + 1, points_); }

  std::FILE* out_;
  bool is_terminal_;
  int64_t points_ = 0, present_ = 0, done_ = 0;  // done_ includes present_
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point told_ = start_;  // time when doing() last wrote
  std::string label_;  // label of the group that is being measured
};

// A duration as "41 s", "3:05" or "1:02:03".
std::string duration_text(double seconds);

}  // namespace reprise::app
