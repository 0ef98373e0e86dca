// Measures this machine's highest bandwidths and arithmetic rates: the denominators of every
// "fraction of the limit".
#pragma once

#include <atomic>
#include <string_view>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/device/cpu.h"
#include "core/device/machine.h"

namespace reprise {

struct MachineLimits {
  double dram_read_gb_s = 0;  // all threads streaming a buffer far larger than L3, on huge pages
  double l3_read_gb_s = 0;    // all threads, working set in L3
  double l2_read_gb_s = 0;    // all threads, working set in each core's L2
  double f32_gflop_s = 0;     // all threads, fused multiply-adds in registers
  // All threads, bf16 products in registers: products of AMX's tiles, or without AMX the dot
  // products of AVX512-BF16. Equals f32_gflop_s if the machine has neither.
  double bf16_gflop_s = 0;
  // Limits of a GPU, 0 if not measured: reading its memory, and bf16 products with f32 sums.
  // core/kernels/device/cuda/device_probe.h measures these two; MachineProbe does not.
  double device_read_gb_s = 0;
  double device_half_gflop_s = 0;
  double elapsed_s = 0;  // duration of the probe
};

enum class Limit : uint8_t { kDramRead, kL3Read, kL2Read, kF32, kBf16, kDeviceRead, kDeviceHalf };
[[nodiscard]] constexpr bool is_device_limit(Limit limit) { return limit >= Limit::kDeviceRead; }
// The field's name in MachineLimits, also used in records: "dram_read_gb_s", "f32_gflop_s", ...
std::string_view name_of(Limit limit);
// Throws Error for an unknown name; the message offers the nearest known name.
Limit parse_limit(std::string_view name);
double value_of(const MachineLimits& limits, Limit limit);  // GB/s or GFLOP/s

// Measures one limit at the time of the call, so that the limit and the work compared with it see
// the same clock rates and the same other programs on the machine. A single probe at start-up would
// not.
class MachineProbe {
 public:
  // Fills a buffer of one to four parts: as many as fit into 2 GiB and into a quarter of the
  // available memory, but at least one. A part has six times the size of all L3 caches, at least
  // 128 MiB, but no more than a quarter of the memory. Takes some tenths of a second, or seconds if
  // the L3 is large.
  explicit MachineProbe(const Context& context);
  // The limit in GB/s or GFLOP/s: the best of all trials that begin within `budget_s` seconds, but
  // of at least three trials. Not for limits of a GPU.
  [[nodiscard]] double measure(Limit limit, double budget_s) const;
  // One trial of some milliseconds. Other programs may disturb it: take one trial next to each
  // piece of timed work, and use the median of the ratios. Each trial of kDramRead reads another
  // part of the buffer, since an L3 that is larger than the system reports keeps some of the part
  // read last (on a Zen 5 the rate was then up to 1.36 times too high). A trial also evicts all
  // other data from the caches, so the work after it finds its data in memory, as a model's layer
  // does.
  [[nodiscard]] double sample(Limit limit) const;
  [[nodiscard]] size_t buffer_bytes() const { return buffer_.bytes(); }
  // Bytes of the buffer that all threads together read in one sample of kDramRead.
  [[nodiscard]] size_t trial_bytes() const { return buffer_.bytes() / trials_; }

 private:
  Context context_;
  size_t dram_bytes_;                     // bytes that a thread reads in one trial
  size_t trials_;                         // 1 to 4 parts of the buffer; each trial reads one
  AlignedBuffer buffer_;                  // [trials, threads, dram_bytes]
  mutable std::atomic<size_t> trial_{0};  // number of kDramRead trials so far
};

// Bytes that each thread reads again and again to measure Limit::kL3Read: those of a core fill its
// L2 and half of its share of the L3, so that most of them come from the L3, also if it keeps
// nothing that an L2 has, and so that cache lines of other programs matter little.
[[nodiscard]] size_t l3_read_bytes(const CpuFacts& cpu, int threads);
// For Limit::kL2Read: those of a core take half of its L2.
[[nodiscard]] size_t l2_read_bytes(const CpuFacts& cpu, int threads);

// Measures all limits of the CPU. Takes one or two seconds, plus the time to fill MachineProbe's
// buffer. Each limit is the best of several short trials, because other programs can only slow a
// trial down.
MachineLimits probe_machine(const Context& context);

// probe_machine(), run once per number of threads and instruction set and then remembered. Not
// thread-safe.
const MachineLimits& machine_limits(const Context& context);

// GFLOP/s of all threads with AVX512-BF16's dot products, in registers; the best of five short
// trials. On a processor with AMX this is the limit for attention with few query rows, which does
// not use the tiles whose rate is Limit::kBf16.
double dot_product_rate(const Context& context);

// The facts of this machine, with these limits.
Machine machine_of(const Context& context, const MachineLimits& limits);

}  // namespace reprise
