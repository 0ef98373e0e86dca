#include "core/base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace reprise {
namespace {

int64_t number_of(rlim_t limit) {
  constexpr rlim_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(limit, kMost));  // RLIM_INFINITY is the largest rlim_t
}

}  // namespace

int64_t raise_descriptor_limit(int64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (number_of(limit.rlim_cur) >= wanted) return number_of(limit.rlim_cur);
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return number_of(::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

}  // namespace reprise
