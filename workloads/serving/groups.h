// Requests of several groups, each with its own prefix.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Group and lengths (if a range is given) of request i are drawn by the number i alone.
SourceInfo groups_info();
std::unique_ptr<Entries> make_groups(const SourceOptions& options);

}  // namespace reprise::workloads::serving
