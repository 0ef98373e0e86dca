// How far ahead of what it computes a kernel that memory limits asks for its data, and into which
// cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

// No value is best everywhere: processors differ in how many misses a core keeps in flight, for L1
// and for L2. So it is measured (core/kernels/attention/fetch_calibration.h), and the defaults
// serve where it is not.
struct FetchSetting {
  enum class Level : uint8_t { kL1, kL2 };
  enum class Near : uint8_t { kLoad, kPrefetch };

  // Prefetched into `level` so many bytes ahead. (Zen 5: 6 KiB into L1, with loads 2 KiB ahead,
  // reach 0.94 to 1.00 of what a core can read; 16 KiB and the same 0.81 to 0.94; without loads
  // 0.70 to 0.76. Two Zen 4 cores: into L2 1.3 to 1.6 times as fast as into L1.)
  Level level = Level::kL1;
  int far_bytes = 6 << 10;
  // Loaded, or prefetched into L1 once more, so many bytes ahead; 0 for neither.
  int near_bytes = 2 << 10;
  Near near = Near::kLoad;

  bool operator==(const FetchSetting&) const = default;
};

// "l1:6144:2048": level, bytes prefetched ahead, bytes loaded ahead; "l1:6144:2048:twice" where the
// latter are prefetched again instead.
std::string text_of(const FetchSetting& setting);
// Throws Error saying what is accepted: l1 or l2, 64 to 65536 bytes, 0 to the former (64 at least
// for those prefetched twice).
FetchSetting parse_fetch(std::string_view text);

}  // namespace reprise
