// The result of `reprise check`, as a table for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "checks/check.h"
#include "core/base/json.h"

namespace reprise::app {

// Returns a table with one row for each benchmark, worst verdict first, and footnotes that explain
// the columns.
std::string check_table(const std::vector<checks::BenchmarkResult>& results,
                        const checks::CheckOptions& options);

// The last line of the report, for example "2 slower, 1 undecided, 4 same of 7 benchmarks".
std::string check_summary(const std::vector<checks::BenchmarkResult>& results);

// Returns the complete result: verdicts, ratios with intervals, A/A pairs, every sample, the
// options, and the machine's load average at the beginning and the end of the check. `context` adds
// the machine, the provenance and the benchmarks that only one side has.
Fields check_json(const checks::CheckOutcome& outcome, const checks::CheckOptions& options,
                  const Fields& context);

// The ratio of a result with its interval: "1.003 (0.991 to 1.015)".
std::string ratio_text(const checks::BenchmarkResult& result);

}  // namespace reprise::app
