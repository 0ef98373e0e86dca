// The key "plot" of an experiment file.
#pragma once

#include <string>

#include "core/base/json.h"
#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// Reads the figures of the file, if it has any, into `experiment`, whose kind and title must have
// been read before. Throws Error naming the file and the key.
void read_plots(JsonObject& file, const std::string& source, Experiment& experiment);

}  // namespace reprise::experiments
