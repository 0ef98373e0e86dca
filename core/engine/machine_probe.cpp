#include "core/engine/machine_probe.h"

#include <algorithm>
#include <chrono>

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/kernels/cpu/probe.h"

namespace reprise::engine {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Work per second of fn() -> work done, the best of repeated trials within `budget_s` (at least
// three).
template <typename Fn>
double best_rate(double budget_s, Fn&& fn) {
  double best = 0.0;
  const auto start = std::chrono::steady_clock::now();
  for (int trial = 0; trial < 3 || seconds_since(start) < budget_s; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    const double work = fn();
    best = std::max(best, work / seconds_since(begin));
  }
  return best;
}

// GB/s at which all threads read `bytes_per_thread` of their own, `passes` times over.
double read_rate(const Context& context, const AlignedBuffer& buffer, size_t bytes_per_thread,
                 int passes, double budget_s) {
  constexpr size_t kPage = 4096;
  const size_t share = bytes_per_thread / kPage * kPage;
  return best_rate(budget_s,
                   [&] {
                     parallel_for(context, context.threads, [&](int64_t item, int) {
                       const char* mine = buffer.as<char>() + static_cast<size_t>(item) * share;
                       volatile float kept = 0.0f;
                       for (int pass = 0; pass < passes; ++pass)
                         kept = kernels::cpu::read_all(mine, share, context.isa);
                       (void)kept;
                     });
                     return static_cast<double>(share) * context.threads * passes;
                   }) *
         1e-9;
}

template <typename Fn>
double flop_rate(const Context& context, double budget_s, Fn&& fn) {
  return best_rate(budget_s,
                   [&] {
                     double flops = 0.0;
                     parallel_for(context, context.threads, [&](int64_t item, int) {
                       const double mine = fn();
                       if (item == 0) flops = mine * context.threads;
                     });
                     return flops;
                   }) *
         1e-9;
}

}  // namespace

MachineLimits probe_machine(const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  MachineLimits limits;
  const CpuFacts& cpu = cpu_facts();
  const auto threads = static_cast<size_t>(std::max(1, context.threads));
  constexpr size_t kMiB = size_t{1} << 20;
  const size_t l2 = cpu.l2_bytes > 0 ? static_cast<size_t>(cpu.l2_bytes) : kMiB;
  const size_t l3 = cpu.l3_bytes > 0 ? static_cast<size_t>(cpu.l3_bytes) : 16 * kMiB;
  // Several times all the L3 there is, but no more of the machine's memory than it can spare.
  const size_t all_l3 = l3 * static_cast<size_t>(cpu.l3_instances);
  const auto spare = static_cast<size_t>(std::max<int64_t>(0, available_bytes() / 4));
  const size_t dram_bytes =
      std::min(std::max(6 * all_l3, 128 * kMiB), std::max(spare, 64 * kMiB)) / threads;
  AlignedBuffer buffer(dram_bytes * threads);
  parallel_for(context, context.threads, [&](int64_t item, int) {
    std::fill_n(buffer.as<char>() + static_cast<size_t>(item) * dram_bytes, dram_bytes, char{1});
  });
  limits.dram_read_gb_s = read_rate(context, buffer, dram_bytes, 1, 0.5);
  // Half of what the threads share of L3, so that other tenants' lines do not matter much; and half
  // of each L2.
  // (Never more than a thread's share of the buffer: with some 200 threads that is less than 2 L2.)
  limits.l3_read_gb_s =
      read_rate(context, buffer, std::min(dram_bytes, std::max(2 * l2, l3 / 2 / threads)), 8, 0.2);
  limits.l2_read_gb_s = read_rate(context, buffer, std::min(dram_bytes, l2 / 2), 200, 0.15);
  constexpr int64_t kRounds = 100'000;
  limits.f32_gflop_s = flop_rate(
      context, 0.25, [&] { return kernels::cpu::multiply_add_f32(kRounds, context.isa); });
  limits.bf16_gflop_s =
      context.isa == Isa::kAvx512Bf16
          ? flop_rate(context, 0.25, [] { return kernels::cpu::dot_bf16(kRounds); })
          : limits.f32_gflop_s;
  limits.elapsed_s = seconds_since(start);
  return limits;
}

}  // namespace reprise::engine
