// The schema of a record: one line of records.jsonl, everything needed to read one measured point.
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

// A record is an object with these keys:
//   schema       kOldestSchemaVersion ... kSchemaVersion
//   experiment   {name, kind, paper, figure, scale, left_out: [{method, reason}] that the file
//   lists
//                and the program could not run}
//   point        id of the point: hash of its resolved settings
//   group        {id, index, of}: points measured interleaved, written together
//   config_hash  hash of the whole resolved experiment
//   settings     {requested, resolved}
//   seeds        {prompts, weights, sampling, and arrivals where it is not 1}
//   samples      {metric name: [numbers in the order they were taken]}
//   metrics      {metric name: {value, unit, and min, max, q1, q3, iqr, count of a sampled one, and
//                p50 ... p99.9 of one with tails, as far as the count supports them, and intervals
//                {p50: {low, high}, ...} or interval {low, high} with their confidence, and
//                population where its samples are of different things}}
//   answers      what came out beside the times, such as {tokens_hash, generated_tokens}, and the
//                {verdict, reasons} of a serving run
//   memory       {name in bytes: number}
//   core_use     (of timed kinds) {wall_ms, cpu_ms, waited_ms, background_ms, involuntary_switches,
//   stolen_ms: [of
//                each piece of timed work], disturbed, retaken: counts}: core/device/core_use.h
//   remarks      sentences a reader of the numbers should know
//   machine      facts and measured limits
//   provenance   code revision, compiler, flags, libraries
//   sources      (not in older records) fingerprints of the model's and the workload's files
//   started_at, ended_at   UTC
//   writer       (of one of several processes alone) its name

// What a sound file may hold, so that no table or figure meets more: bytes of a name, of a
// sentence, and the magnitude of a number.
inline constexpr size_t kLongestName = 1000;
inline constexpr size_t kLongestText = 10000;
inline constexpr double kLargestNumber = 1e18;

// Whether a text of a file can be printed as it is: at most `most` bytes, and no control characters
// (C0, DEL, C1), which a terminal would obey.
[[nodiscard]] bool is_plain_text(std::string_view text, size_t most);

// A value as a message quotes it: its JSON, cut at 100 bytes.
std::string shown(const Json& value);

// What is wrong with a machine's facts and limits ("" if nothing), as record_fault() says it.
std::string machine_fault(const Json& machine);

// What is wrong with a record ("" if nothing), with the key, what was found and what is accepted:
// missing keys, values of another type, a metric without unit or not finite, a negative time, a
// TTFT that is not positive or is above the end-to-end time, a share above what can be, more reused
// than prompt tokens. Checked before a record is written.
std::string record_fault(const Json& record);

// What the metrics say against a method that promises the reference's tokens: that generations
// differ from it by more than rounding explains ("unexplained" of "generations"); "" if they do
// not, or were not compared.
std::string inexact_remark(const Json& metrics);

// What a reader should know about metrics: the inexact_remark() if any, which are noisy, whether a
// share of a limit is above 1, that is, the limit was measured on a busy machine, and whether one
// is so small that something else than what is measured took the time.
std::vector<std::string> remarks_on(const Json& metrics);

// Now as "2026-01-31T12:34:56.789Z".
std::string utc_now();

}  // namespace reprise::results
