// Shows how far `reprise check` has come. On a terminal it is one line that is rewritten; elsewhere
// there is a plain line for each phase and each verdict.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "checks/check.h"
#include "checks/record.h"

namespace reprise::app {

class CheckProgress : public checks::CheckObserver, public checks::RecordObserver {
 public:
  // Writes to `out`, in the form for a terminal if `is_terminal`. Writes nothing while a benchmark
  // program runs.
  CheckProgress(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  void phase(const std::string& text);  // shows a phase before the first run
  void planning(int benchmark, int of) override;
  void left_out(const checks::Skipped& benchmark) override;
  void calibrating(int round, int of) override;
  void measuring(int decided, int of, double rounds_left_s) override;
  void decided(const checks::BenchmarkResult& result) override;
  void recorded(int64_t samples, int64_t of) override;
  void end();  // removes the line, so that other output can follow
  // The latest progress text, for example "A/A pairs, ...: 3/10".
  [[nodiscard]] const std::string& now() const { return now_; }

 private:
  // Shows a phase of `of` equal steps.
  void step(const std::string& text, int64_t done, int64_t of);
  void show(const std::string& line);  // does nothing unless `out_` is a terminal

  std::FILE* out_;
  bool is_terminal_;
  bool is_measuring_ = false;
  std::string now_ = "looking for benchmarks";
};

}  // namespace reprise::app
