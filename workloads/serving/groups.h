// Requests of several groups, each with its own prefix.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// The group of request i, and its lengths if a range is given, depend only on the seed and i.
SourceInfo groups_info();
std::unique_ptr<Entries> make_groups(const SourceOptions& options);

}  // namespace reprise::workloads::serving
