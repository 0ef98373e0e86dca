// The keys "methods", "series" and "compared_with" of an experiment file.
#pragma once

#include <string>

#include "core/base/json.h"
#include "experiments/framework/experiment_file.h"

namespace reprise::experiments {

// Reads the methods and series of the file into `experiment`, whose kind must have been read
// before. Throws Error naming the file and the key; several mistakes are reported together
// (ProblemsError).
void read_points(JsonObject& file, const std::string& source, const Vocabulary& vocabulary,
                 Experiment& experiment);

}  // namespace reprise::experiments
