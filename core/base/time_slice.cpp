#include "core/base/time_slice.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace reprise {

#ifdef __linux__
namespace {

constexpr uint64_t kShortest = 100'000;     // ns; the kernel raises shorter requests to this
constexpr uint32_t kOther = 0, kBatch = 3;  // scheduling policies that share a core fairly

// The kernel's struct sched_attr, defined here because C libraries declare it in different headers.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // ns; under a fair scheduling policy, the time slice that was asked for
  uint64_t deadline = 0, period = 0;
};

bool read_own(SchedulingAttributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0;
}

}  // namespace

void ask_for_short_slices() {
  SchedulingAttributes own;
  if (!read_own(own) || (own.policy != kOther && own.policy != kBatch)) return;
  own.size = sizeof own;
  own.runtime = kShortest;
  (void)syscall(SYS_sched_setattr, 0, &own, 0);
}

std::optional<uint64_t> asked_slice_ns() {
  SchedulingAttributes own;
  if (!read_own(own)) return std::nullopt;
  return own.runtime;
}
#else
void ask_for_short_slices() {}
std::optional<uint64_t> asked_slice_ns() { return std::nullopt; }
#endif

}  // namespace reprise
