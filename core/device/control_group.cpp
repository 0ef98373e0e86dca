#include "core/device/control_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Returns nullopt if the file is missing or says "max".
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Returns the sum of the lines "KEY 123" for both keys.
int64_t sum_of_lines(const fs::path& path, std::string_view one, std::string_view other) {
  std::ifstream file(path);
  int64_t sum = 0, value = 0;
  for (std::string key; file >> key >> value;)
    if (key == one || key == other) sum += value;
  return sum;
}

// Appends the folders of `group` and of all groups around it, as far as they are there. In a
// container, only the outermost may be: it is then the container's own group.
void add_chain(const fs::path& top, const fs::path& group, std::vector<fs::path>& folders) {
  std::error_code error;
  for (fs::path inner = group.relative_path();; inner = inner.parent_path()) {
    if (fs::is_directory(top / inner, error)) folders.push_back(top / inner);
    if (inner.empty()) return;
  }
}

// Returns the folders of the process's groups, of version 2 and of version 1's `controller`. A line
// of `membership` is "0::/a/b", or in version 1 "4:cpu,cpuacct:/a/b".
std::vector<fs::path> folders_of(const ControlGroupFiles& files, std::string_view controller) {
  const std::string name = fmt::format(",{},", controller);
  std::vector<fs::path> folders;
  std::ifstream membership(files.membership);
  for (std::string line; std::getline(membership, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    // A process outside the root of its namespace has a path such as /../b.
    fs::path group = line.substr(second + 1);
    if (std::find(group.begin(), group.end(), "..") != group.end()) group = "/";
    if (controllers.empty())
      add_chain(files.groups, group, folders);
    else if (fmt::format(",{},", controllers).find(name) != std::string::npos)
      add_chain(files.groups / controller, group, folders);
  }
  return folders;
}

// Names of files, and of lines of memory.stat.
struct MemoryNames {
  const char *limit, *used, *inactive, *active;
};
constexpr MemoryNames kMemoryNames[] = {
    {"memory.max", "memory.current", "inactive_file", "active_file"},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"}};

std::optional<MemoryLimitOfGroup> memory_in(const fs::path& folder) {
  // Version 1 has nearly the largest number as the limit of a group without one. memory.stat, which
  // takes the system the longest, is not read for it.
  constexpr int64_t kNoLimit = int64_t{1} << 62;
  for (const MemoryNames& names : kMemoryNames) {
    const std::optional<int64_t> limit = number_in(folder / names.limit);
    if (!limit || *limit >= kNoLimit) continue;
    const std::optional<int64_t> used = number_in(folder / names.used);
    if (!used) continue;
    const int64_t cached = sum_of_lines(folder / "memory.stat", names.inactive, names.active);
    return MemoryLimitOfGroup{.limit_bytes = *limit,
                              .left_bytes = std::max<int64_t>(0, *limit - *used + cached)};
  }
  return std::nullopt;
}

std::optional<double> processors_in(const fs::path& folder) {
  int64_t quota_us = 0, period_us = 0;
  std::ifstream file(folder / "cpu.max");
  if (!(file >> quota_us >> period_us)) {
    quota_us = number_in(folder / "cpu.cfs_quota_us").value_or(0);
    period_us = number_in(folder / "cpu.cfs_period_us").value_or(0);
  }
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

}  // namespace

std::optional<MemoryLimitOfGroup> memory_of_control_group(const ControlGroupFiles& files) {
  std::optional<MemoryLimitOfGroup> strictest;
  for (const fs::path& folder : folders_of(files, "memory"))
    if (const auto found = memory_in(folder);
        found && (!strictest || found->left_bytes < strictest->left_bytes))
      strictest = found;
  return strictest;
}

std::optional<double> processors_of_control_group(const ControlGroupFiles& files) {
  std::optional<double> strictest;
  for (const fs::path& folder : folders_of(files, "cpu"))
    if (const auto found = processors_in(folder); found && (!strictest || *found < *strictest))
      strictest = found;
  return strictest;
}

}  // namespace reprise
