// Reads the option "subjects" of the request sources that ask MMLU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// The subjects that the options name, or all of `names` if they name none. Throws Error beginning
// with the source's name for an unknown subject and for one that is named twice.
std::vector<std::string> chosen_subjects(const char* source, const SourceOptions& options,
                                         std::span<const std::string> names);

}  // namespace reprise::workloads::serving
