// The inputs of an experiment besides its own file: fingerprints of models and workloads, so that a
// run is not continued with other weights under the same names.
#pragma once

#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// The fingerprints in the form of results::identity_json(). Reads small files completely, and of
// weights only size, modification time and header, which takes milliseconds. Of a data folder it
// reads the JSON files and tables, the large ones by size and modification time. Leaves out files
// that cannot be read; loading them reports why.
[[nodiscard]] Fields sources_of(const Experiment& experiment);

}  // namespace reprise::experiments
