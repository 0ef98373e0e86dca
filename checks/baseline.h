// Baseline files: how near benchmarks came to the limits of the machine on which they were
// recorded, so that runs on another machine can be compared with the recorded runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/device/machine_probe.h"

namespace reprise::checks {

// Version of the baseline files' format, raised whenever a program that reads old files would
// misunderstand new ones.
inline constexpr int kBaselineSchema = 1;

// The samples of one benchmark, one per process.
struct BaselineEntry {
  std::string program;  // file name, e.g. attention_bench
  std::string name;
  Limit limit = Limit::kDramRead;  // the limit that the benchmark came nearest to
  std::vector<double> times_s;
  std::vector<double> limits;        // GB/s or GFLOP/s, measured right before and after each sample
  std::vector<double> limit_shares;  // > 0

  [[nodiscard]] std::string id() const { return program + "/" + name; }  // as Benchmark::id()
};

struct Baseline {
  std::vector<BaselineEntry> entries;
  Fields machine;     // facts and limits
  Fields provenance;  // provenance of the recording program
  Fields settings;    // what the recording was asked for, such as budget_s
};

Fields baseline_json(const Baseline& baseline);

// Throws Error naming file and key if the file is no baseline or has another schema version, holds
// a benchmark twice, or if samples are missing or not above 0.
Baseline read_baseline(const std::filesystem::path& file);

// Writes a temporary file and renames it, so that nobody reads half a file. Throws Error if the
// file cannot be written.
void write_baseline(const Baseline& baseline, const std::filesystem::path& file);

}  // namespace reprise::checks
