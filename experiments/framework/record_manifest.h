// A manifest for records that have none: what they were measured for, as far as they tell.
#pragma once

#include <optional>
#include <vector>

#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// The settings that the records have make the sweep; words, metrics and figures are those of
// `shipped`, the experiment they name where this program ships it. Without it, one figure: the
// first metric that they have, of those of their kind, against the axis with the most values. The
// records are sound and at least one. Throws Error, naming `source`, where they are of several
// experiments or of a kind nobody knows.
[[nodiscard]] Json manifest_of_records(const std::vector<Json>& records, const std::string& source,
                                       const std::optional<Experiment>& shipped,
                                       const Vocabulary& vocabulary);

}  // namespace reprise::experiments
