// What an experiment reads besides its own file: fingerprints of models and workloads, so that a
// run is not continued with other weights under the same names.
#pragma once

#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// As results::identity_json() takes them. Reads the small files whole and of the weights their
// size, time of change and header, which takes milliseconds whatever their size; of a folder of
// data its JSON files and tables, the large ones by size and time of change. What cannot be read is
// left out: loading it says why.
[[nodiscard]] Json sources_of(const Experiment& experiment);

}  // namespace reprise::experiments
