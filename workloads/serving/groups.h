// Requests of several groups, each with a prefix of its own.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A request's group is drawn, and so are its lengths where a range is given; request i is drawn by
// number i alone.
SourceInfo groups_info();
std::unique_ptr<Entries> make_groups(const SourceOptions& options);

}  // namespace reprise::workloads::serving
