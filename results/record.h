// The schema of a record: one line of records.jsonl, with everything needed to read one measured
// point.
//
// A record is an object with these keys:
//   schema       kSchemaVersion
//   experiment   {name, kind, paper, figure, scale, left_out: [{method, reason}] for methods that
//                the program could not run}
//   point        id of the point: hash of its requested settings
//   group        {id, index, of}: points measured interleaved and written together
//   config_hash  hash of the whole resolved experiment
//   settings     {requested, resolved}
//   seeds        {prompts, weights, sampling, and arrivals if it is not 1}
//   samples      {metric name: [numbers in the order they were taken]}
//   metrics      {metric name: {value, unit}}. A sampled metric adds min, max, q1, q3, iqr, count;
//                one with tails adds p50 ... p99.9 as far as the count supports them, and intervals
//                {p50: {low, high}, ...}; others may have interval {low, high}, with its
//                confidence. `population` marks samples of different things
//   answers      results other than times, e.g. {tokens_hash, generated_tokens}, and a serving
//                run's {verdict, reasons}
//   memory       {name: bytes}
//   core_use     (timed kinds) {wall_ms, cpu_ms, waited_ms, background_ms, involuntary_switches,
//                stolen_ms: [per piece of timed work], disturbed, retaken: counts}; see
//                core/device/core_use.h
//   remarks      sentences that a reader of the numbers should know
//   machine      facts and measured limits
//   provenance   code revision, compiler, flags, libraries
//   sources      (not in older records) fingerprints of the model's and the workload's files
//   started_at, ended_at   UTC
//   writer       (if several processes share the folder) name of the process
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

// Raised whenever a reader of old records would misunderstand new ones. Since 2 a file may hold
// what the records of a run share in one entry (results/run_entry.h).
inline constexpr int kSchemaVersion = 2;
inline constexpr int kOldestSchemaVersion = 1;  // that is still read

// Bounds of a valid file, so that tables and figures need not handle more: bytes of a name, bytes
// of a sentence, magnitude of a number.
inline constexpr size_t kLongestName = 1000;
inline constexpr size_t kLongestText = 10000;
inline constexpr double kLargestNumber = 1e18;

// True if a text from a file can be printed as it is: at most `most` bytes and no control
// characters (C0, DEL, C1), which a terminal would obey.
[[nodiscard]] bool is_plain_text(std::string_view text, size_t most);

// Quotes a value in a message: its JSON, cut at 100 bytes.
std::string shown(const Json& value);

// Returns what is wrong with a machine's facts and limits, as record_fault() does.
std::string machine_fault(const Json& machine);

// Returns what is wrong with a record, with the key, the value found and those accepted; "" if
// nothing is. Checks keys and types, units, finite values, negative times, 0 < TTFT <= end-to-end
// time, shares, and reused <= prompt tokens. Called before a record is written.
std::string record_fault(const Json& record);

// Returns a sentence if a method that promises the reference's tokens differs by more than rounding
// explains ("unexplained" of "generations"); "" if it does not, or was not compared.
std::string inexact_remark(const Json& metrics);

// Returns the remarks that a reader of the metrics needs: inexact_remark(), which metrics are
// noisy, a share of a limit above 1 (the limit was measured on a busy machine), and a share so
// small that something other than the measured work took the time.
std::vector<std::string> remarks_on(const Json& metrics);

// Returns the current time as "2026-01-31T12:34:56.789Z".
std::string utc_now();

}  // namespace reprise::results
