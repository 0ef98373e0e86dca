#include "core/device/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "core/device/control_group.h"

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

}  // namespace

int64_t peak_resident_bytes() { return kib_line("/proc/self/status", "VmHWM:"); }

int64_t resident_bytes() { return kib_line("/proc/self/status", "VmRSS:"); }

AvailableMemory available_memory() {
  AvailableMemory memory;
  if (const int64_t bytes = kib_line("/proc/meminfo", "MemAvailable:"); bytes > 0)
    memory.bytes = bytes;
  const auto limit_to = [&](int64_t limit, int64_t left, std::string_view name) {
    if (left < memory.bytes)
      memory = {.bytes = left,
                .limit_text = fmt::format(" of the {:.3f} GiB that {} allows",
                                          static_cast<double>(limit) / 0x1p30, name)};
  };
  if (const auto group = memory_of_control_group())
    limit_to(group->limit_bytes, group->left_bytes, "the control group");
  rlimit addresses = {};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < RLIM_INFINITY) {
    const auto limit = static_cast<int64_t>(addresses.rlim_cur);
    const int64_t used = kib_line("/proc/self/status", "VmSize:");
    limit_to(limit, std::max<int64_t>(0, limit - used), "ulimit -v");
  }
  return memory;
}

int64_t available_bytes() { return available_memory().bytes; }

void require_available(size_t bytes) {
  if (bytes > static_cast<size_t>(available_bytes())) refuse_allocation(bytes, ENOMEM);
}

void refuse_allocation(size_t bytes, int code) {
  const AvailableMemory memory = available_memory();
  throw MemoryError(
      fmt::format("cannot allocate {:.3f} GiB ({}); {:.3f} GiB are available{}: use a smaller "
                  "model, batch, context or dtype",
                  static_cast<double>(bytes) / 0x1p30, std::strerror(code),
                  static_cast<double>(memory.bytes) / 0x1p30, memory.limit_text),
      static_cast<double>(bytes));
}

}  // namespace reprise
