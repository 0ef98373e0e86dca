// Makes a manifest for records that have none, from the settings in the records.
#pragma once

#include <optional>
#include <vector>

#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// The sweep is rebuilt from the records' settings: it has the places that the records have.
// `shipped` is the experiment that the records name, if this program ships it. If each record has
// the values of one of its cases, the sweep has the places of these cases instead.
// Methods that a record says were left out are left out.
// Titles, metrics and figures are those of `shipped`, and so is mean_over if the records have all
// values of that axis. Without `shipped` there is one figure, which shows the kind's first metric
// in the records over the axis with most values. Throws Error naming `source` if there is no valid
// record, or if the records are of several experiments or of an unknown kind.
[[nodiscard]] results::Manifest manifest_of_records(const std::vector<results::Record>& records,
                                                    const std::string& source,
                                                    const std::optional<Experiment>& shipped,
                                                    const Vocabulary& vocabulary);

// True if some of the records have a model and the workload of the experiment.
[[nodiscard]] bool have_inputs_of(const Experiment& experiment,
                                  const std::vector<results::Record>& records);

}  // namespace reprise::experiments
