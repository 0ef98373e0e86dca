// The workloads an experiment file can name.
#pragma once

#include <string>
#include <vector>

namespace reprise::workloads {

struct WorkloadInfo {
  std::string name;
  std::string summary;
  bool takes_file = false;  // "file": the prompts to read, next to the name
};

// In the order `reprise list` shows them.
std::vector<WorkloadInfo> known_workloads();

}  // namespace reprise::workloads
