// The inputs of an experiment besides its own file: fingerprints of models and workloads, so that a
// run is not continued with other weights under the same names.
#pragma once

#include <string>
#include <vector>

#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// Returns the fingerprints in the form of results::identity_fields(). Files are hashed whole, with
// two exceptions: of weights, samples are hashed (model::Coverage::kSamples), and a file above 8
// MiB in a folder of data is identified by its size and modification time. Files that are read
// beside the workload's own file are included: a schema's prompt and src= texts, scores of sentence
// pairs, MMLU's examples, lengths of ServeGen's clients. So are files that options of methods name.
// Absent files are left out. A file that cannot be read has the fingerprint "unreadable".
[[nodiscard]] Fields sources_of(const Experiment& experiment);

// Names of the experiment's models with trained weights and of its data sets that are not on this
// machine. The names are as the experiment file writes them.
[[nodiscard]] std::vector<std::string> missing_inputs(const Experiment& experiment);

}  // namespace reprise::experiments
