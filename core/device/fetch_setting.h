// Software prefetch of kernels whose limit is memory bandwidth: how many bytes ahead of their reads
// they request data, and into which cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

// Prefetch of keys and values in attention. No value is best on every machine: processors differ in
// how many L1 and L2 misses a core keeps in flight. Calibration (core/kernels/calibration) measures
// the best setting; the defaults below are used on machines without a calibration.
struct FetchSetting {
  enum class Level : uint8_t { kL1, kL2 };
  enum class Near : uint8_t { kLoad, kPrefetch };

  // The far prefetch: into `level`, `far_bytes` ahead. On Zen 5, attention reads at 0.94 to 1.00 of
  // the highest rate of a core if it prefetches into L1 6 KiB ahead and loads 2 KiB ahead. With 16
  // KiB instead of 6 KiB it is 0.81 to 0.94, and without the loads 0.70 to 0.76. (On two Zen 4
  // cores, prefetching into L2 was 1.3 to 1.6 times as fast.)
  Level level = Level::kL1;
  int far_bytes = 6 << 10;
  // The near request, `near_bytes` ahead: a load, or a second prefetch, into L1. If near_bytes is
  // 0, there is no near request.
  int near_bytes = 2 << 10;
  Near near = Near::kLoad;

  bool operator==(const FetchSetting&) const = default;
};

// Prefetch of the weights that products of few rows stream: into which cache, and how many bytes
// ahead. The hardware prefetcher stops at every 4 KiB boundary of the linear address, even on huge
// pages; software prefetch fetches the next 4 KiB in time.
struct WeightFetch {
  FetchSetting::Level level = FetchSetting::Level::kL1;
  int bytes = 4 << 10;  // 0: no prefetch but the hardware's

  bool operator==(const WeightFetch&) const = default;
};

// "level:far_bytes:near_bytes", such as "l1:6144:2048"; followed by ":twice" if the near request is
// a prefetch.
std::string text_of(const FetchSetting& setting);
// Throws Error listing the accepted values: level l1 or l2; far_bytes 64 to 65536; near_bytes 0 to
// far_bytes, and at least 64 with ":twice".
FetchSetting parse_fetch(std::string_view text);

// "level:bytes", such as "l2:4096". parse_weight_fetch() throws Error unless the level is l1 or l2
// and there are at most 65536 bytes.
std::string text_of(const WeightFetch& fetch);
WeightFetch parse_weight_fetch(std::string_view text);

}  // namespace reprise
