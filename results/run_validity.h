// Finds whether a run counts by the rules of its kind. A serving run that was too short, sent
// requests late, or was stopped while its queue grew has numbers but no result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/record.h"

namespace reprise::results {

struct RunValidity {
  bool is_judged = false;  // the record has a verdict
  bool is_valid = true;    // also true without a verdict
  std::string reason;      // why the run is invalid; not empty if !is_valid
  // Sentences about a valid run: limits that were lowered to make it valid, and reasons to doubt
  // its numbers. Empty for an invalid run.
  std::vector<std::string> reservations;
};

// Reads {"verdict": "VALID" or another text, "reasons": [texts], "reservations": [texts]} in a
// record's answers.
[[nodiscard]] RunValidity run_validity(const Record& record);
// run_validity().reservations, for callers that have only the record's `answers`.
[[nodiscard]] std::vector<std::string> run_reservations(const Fields& answers);
// Returns "INVALID: " and the reasons, for callers that have only the record's `answers`; "" for a
// valid run.
[[nodiscard]] std::string invalid_remark(const Fields& answers);

// Returns a sentence if the record is of a valid run and has a throughput_speedup over an INVALID
// one, that of the first method of its group in `records`; "" if not.
[[nodiscard]] std::string invalid_speedup_remark(const Record& record,
                                                 std::span<const Record> records);
// True if this metric of the record counts: its run is valid, and a throughput_speedup is not over
// an INVALID run, that of the first method of its group in `records`.
[[nodiscard]] bool is_valid_metric(const Record& record, const std::string& metric,
                                   std::span<const Record> records);

}  // namespace reprise::results
