// The workloads an experiment file can name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace reprise::workloads {

// All workloads, in the order in which `reprise list` shows them.
std::vector<WorkloadInfo> known_workloads();

// Throws Error for an unknown name, with the nearest one, and if the source lacks something that
// the workload needs.
std::unique_ptr<Workload> make_workload(const std::string& name, const WorkloadSource& source);

}  // namespace reprise::workloads
