#include "core/device/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace reprise {
namespace {

// Returns the value, in bytes, of the line "key 123 kB" in the file at `path`; 0 if there is no
// such line.
int64_t kib_line(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word == key) {
      int64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

int64_t number_in(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  return (file >> value) ? value : -1;
}

}  // namespace

int64_t peak_resident_bytes() { return kib_line("/proc/self/status", "VmHWM:"); }

int64_t resident_bytes() { return kib_line("/proc/self/status", "VmRSS:"); }

AvailableMemory available_memory() {
  AvailableMemory memory = {.bytes = kib_line("/proc/meminfo", "MemAvailable:"), .limit_text = ""};
  const auto limit_to = [&](int64_t limit, int64_t used, std::string_view name) {
    const int64_t left = std::max<int64_t>(0, limit - used);
    if (left < memory.bytes)
      memory = {.bytes = left,
                .limit_text = fmt::format(" of the {:.3f} GiB that {} allows",
                                          static_cast<double>(limit) / 0x1p30, name)};
  };
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit > 0 && used >= 0) limit_to(limit, used, "the control group");
  rlimit addresses = {};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < RLIM_INFINITY)
    limit_to(static_cast<int64_t>(addresses.rlim_cur), kib_line("/proc/self/status", "VmSize:"),
             "ulimit -v");
  return memory;
}

int64_t available_bytes() { return available_memory().bytes; }

}  // namespace reprise
