// The limits that Linux's control groups set for this process: those of containers, of systemd and
// of cluster managers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace reprise {

// The files in which the system describes control groups. Both versions of them are read.
struct ControlGroupFiles {
  std::filesystem::path groups = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

// Limits hold for a group and all groups in it, so each function asks the process's own group and
// every group around it, and returns the strictest limit; nullopt if there is none.
struct MemoryLimitOfGroup {
  int64_t limit_bytes = 0;
  int64_t left_bytes = 0;  // of the limit; cached pages of files count as left
};
std::optional<MemoryLimitOfGroup> memory_of_control_group(const ControlGroupFiles& files = {});
// Number of processors whose time the quota allows, such as 2 or 0.5.
std::optional<double> processors_of_control_group(const ControlGroupFiles& files = {});

}  // namespace reprise
