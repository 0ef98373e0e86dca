// What this machine can do at most, measured: the denominators of every "fraction of the limit".
#pragma once

#include <string_view>

#include "core/base/json.h"
#include "core/device/buffer.h"
#include "core/device/context.h"

namespace reprise {

struct MachineLimits {
  double dram_read_gb_s = 0;  // all threads streaming a buffer far larger than L3, on huge pages
  double l3_read_gb_s = 0;    // all threads, working set in L3
  double l2_read_gb_s = 0;    // all threads, working set in each core's L2
  double f32_gflop_s = 0;     // all threads, fused multiply-add in registers
  double bf16_gflop_s =
      0;  // all threads, bf16 dot product in registers; f32 rate where the processor has none
  // Of a GPU: its memory read, and bf16 products with f32 sums; 0 where none was measured. Who uses
  // one measures it (core/kernels/device/cuda/device_probe.h), not the probe below.
  double device_read_gb_s = 0;
  double device_half_gflop_s = 0;
  double elapsed_s = 0;  // that the probe took (below 3 s)
};

enum class Limit : uint8_t { kDramRead, kL3Read, kL2Read, kF32, kBf16, kDeviceRead, kDeviceHalf };
[[nodiscard]] constexpr bool is_device_limit(Limit limit) { return limit >= Limit::kDeviceRead; }
// The name in records, which is that of the field above: "dram_read_gb_s", "f32_gflop_s", ...
std::string_view name_of(Limit limit);
// Throws Error for an unknown name.
Limit parse_limit(std::string_view name);
double value_of(const MachineLimits& limits, Limit limit);  // GB/s or GFLOP/s, as its name says

// Measures one limit at a time, in the moment where it is asked for: a probe at start-up meets
// other neighbours and, after a rest, other clock rates than the work that is judged by it.
class MachineProbe {
 public:
  // Fills several times all the L3 there is (hundreds of MiB, some 0.1 s).
  explicit MachineProbe(const Context& context);
  // GB/s or GFLOP/s of a limit that is no device's: the best of at least three trials, and of as
  // many as begin within `budget_s`.
  [[nodiscard]] double measure(Limit limit, double budget_s) const;
  // One trial, some milliseconds, as slow as the moment is: to be taken beside a piece of work,
  // whose share of the limit is then the median of such ratios. One of kDramRead also leaves
  // nothing in the caches of what was there before: the work that follows finds its data in memory,
  // as a layer of a model does after the weights of the one before.
  [[nodiscard]] double sample(Limit limit) const;
  [[nodiscard]] size_t buffer_bytes() const { return buffer_.bytes(); }

 private:
  Context context_;
  size_t dram_bytes_;  // a thread's share of the buffer
  AlignedBuffer buffer_;
};

// Measures in under 3 s; each figure is the best of several short trials, since disturbance only
// ever slows.
MachineLimits probe_machine(const Context& context);

// The same, measured once for a context in the life of the program. Not thread-safe.
const MachineLimits& machine_limits(const Context& context);

// Facts and limits as they stand in records: cpu, cores, isa, threads, caches, huge pages, limits.
Json machine_json(const Context& context, const MachineLimits& limits);

}  // namespace reprise
