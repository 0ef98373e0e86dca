// Whether a run counts by the rules of its kind: a serving run that was too short, sent its
// requests late or was stopped while its queue grew has numbers, but no result.
#pragma once

#include <string>

#include "core/base/json.h"

namespace reprise::results {

struct RunValidity {
  bool is_judged = false;  // the record has a verdict
  bool is_valid = true;    // also where nobody judged
  std::string reason;      // of one that is not, never empty then
};

// Of {"verdict": "VALID" or another text, "reasons": [texts]} among a record's answers.
[[nodiscard]] RunValidity run_validity(const Json& record);
// Of the answers alone: "INVALID: " and the reasons, "" where the run is valid.
[[nodiscard]] std::string invalid_remark(const Json& answers);

}  // namespace reprise::results
