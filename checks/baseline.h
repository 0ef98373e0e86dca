// Baselines in files: what benchmarks reached on some machine, as fractions of that machine's
// limits, so that another machine can be judged by them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/device/machine_probe.h"

namespace reprise::checks {

// Raised whenever a reader of old baselines would misunderstand new ones.
inline constexpr int kBaselineSchema = 1;

// Samples of one benchmark, one for each process.
struct BaselineEntry {
  std::string program;  // file name, such as attention_bench
  std::string name;
  Limit limit = Limit::kDramRead;  // the nearest to what the benchmark reached
  std::vector<double> times_s;
  std::vector<double> limits;        // GB/s or GFLOP/s, measured beside each sample
  std::vector<double> limit_shares;  // above 0
};

struct Baseline {
  std::vector<BaselineEntry> entries;
  Json machine;     // facts and limits
  Json provenance;  // of the program that recorded
  Json settings;    // {requested, resolved}
};

Json baseline_json(const Baseline& baseline);

// Throws Error naming file and key for what is no baseline, a schema of another version, and
// samples that are missing or not above 0.
Baseline read_baseline(const std::filesystem::path& file);

// Through a file beside it, so that no reader meets half of it. Throws Error if it cannot.
void write_baseline(const Baseline& baseline, const std::filesystem::path& file);

}  // namespace reprise::checks
