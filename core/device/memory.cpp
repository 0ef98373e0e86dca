#include "core/device/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace reprise {
namespace {

// The value in bytes of the line "key   123 kB" in the file; 0 if there is none.
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

int64_t available_bytes() {
  int64_t available = kib_line("/proc/meminfo", "MemAvailable:");
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit > 0 && used >= 0) available = std::min(available, std::max<int64_t>(0, limit - used));
  return available;
}

}  // namespace reprise
