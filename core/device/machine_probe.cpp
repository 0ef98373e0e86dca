#include "core/device/machine_probe.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/steady_now.h"
#include "core/device/cpu/probe.h"
#include "core/device/memory.h"

namespace reprise {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMiB = size_t{1} << 20;

// Returns the GB/s at which all threads together read. Each thread reads a part of its own of
// `bytes_per_thread` bytes, `passes` times; the parts begin at `data`.
double read_rate(const Context& context, const char* data, size_t bytes_per_thread, int passes) {
  const size_t share = bytes_per_thread / kPage * kPage;
  const int64_t begin_ns = steady_now_ns();
  parallel_for(context, context.threads, [&](int64_t item, int) {
    const char* mine = data + static_cast<size_t>(item) * share;
    volatile float kept = 0.0f;
    for (int pass = 0; pass < passes; ++pass) kept = cpu::read_all(mine, share, context.isa);
    (void)kept;
  });
  return 1e-9 * static_cast<double>(share) * context.threads * passes / seconds_since(begin_ns);
}

// Returns the GFLOP/s of all threads together. Each thread runs fn(), which returns the number of
// FLOPs it did.
template <typename Fn>
double flop_rate(const Context& context, Fn&& fn) {
  double flops = 0.0;
  const int64_t begin_ns = steady_now_ns();
  parallel_for(context, context.threads, [&](int64_t item, int) {
    const double mine = fn();
    if (item == 0) flops = mine * context.threads;
  });
  return 1e-9 * flops / seconds_since(begin_ns);
}

size_t l2_bytes(const CpuFacts& cpu) {
  return cpu.l2_bytes > 0 ? static_cast<size_t>(cpu.l2_bytes) : kMiB;
}

size_t l3_bytes(const CpuFacts& cpu) {
  return cpu.l3_bytes > 0 ? static_cast<size_t>(cpu.l3_bytes) : 16 * kMiB;
}

size_t rounded_up(size_t count, size_t unit) { return (count + unit - 1) / unit; }

// Numbers of cores for threads that are spread over as many as possible.
struct Cores {
  Cores(const CpuFacts& cpu, int threads) {
    const auto of = [](int count) { return static_cast<size_t>(std::max(1, count)); };
    const size_t cores = rounded_up(of(cpu.logical_cores), of(cpu.threads_of_core));
    threads_of_core = rounded_up(of(threads), cores);
    // They may still be in as few L3 caches as possible.
    sharing_l3 = std::min({of(threads), cores, rounded_up(cores, of(cpu.l3_instances))});
  }
  size_t threads_of_core;
  size_t sharing_l3;  // cores that read from one L3
};

size_t threads_of(const Context& context) {
  return static_cast<size_t>(std::max(1, context.threads));
}

// Most bytes of the buffer: a quarter of the available memory, at least 64 MiB.
size_t most_bytes() {
  return std::max(static_cast<size_t>(std::max<int64_t>(0, available_bytes() / 4)), 64 * kMiB);
}

// Bytes that a thread reads in one trial. All threads together read six times the size of all L3
// caches, at least 128 MiB, but no more than most_bytes().
size_t dram_bytes_per_thread(const Context& context) {
  const CpuFacts& cpu = cpu_facts();
  const size_t all_l3 = l3_bytes(cpu) * static_cast<size_t>(cpu.l3_instances);
  const size_t bytes = std::min(std::max(6 * all_l3, 128 * kMiB), most_bytes());
  return bytes / threads_of(context) / kPage * kPage;
}

// Number of parts of the buffer: 1 to 4, of `bytes_of_one` bytes each. Together they take at most
// most_bytes() and at most 2 GiB, unless a single part is larger. (A guest system may need seconds
// to get more memory from its host.)
size_t trials_within(size_t bytes_of_one) {
  constexpr size_t kMost = 4;
  return std::clamp<size_t>(std::min(most_bytes(), 2048 * kMiB) / bytes_of_one, 1, kMost);
}

}  // namespace

size_t l3_read_bytes(const CpuFacts& cpu, int threads) {
  const Cores cores(cpu, threads);
  const size_t of_core = l2_bytes(cpu) + l3_bytes(cpu) / cores.sharing_l3 / 2;
  return std::max(kPage, of_core / cores.threads_of_core);
}

size_t l2_read_bytes(const CpuFacts& cpu, int threads) {
  return std::max(kPage, l2_bytes(cpu) / 2 / Cores(cpu, threads).threads_of_core);
}

MachineProbe::MachineProbe(const Context& context)
    : context_(context),
      dram_bytes_(dram_bytes_per_thread(context)),
      trials_(trials_within(dram_bytes_ * threads_of(context))),
      buffer_(trials_ * dram_bytes_ * threads_of(context)) {
  const auto parts = static_cast<int64_t>(trials_ * threads_of(context));
  parallel_for(context_, parts, [&](int64_t part, int) {
    std::fill_n(buffer_.as<char>() + static_cast<size_t>(part) * dram_bytes_, dram_bytes_, char{1});
  });
}

double MachineProbe::measure(Limit limit, double budget_s) const {
  double best = 0.0;
  const int64_t begin_ns = steady_now_ns();
  for (int trial = 0; trial < 3 || seconds_since(begin_ns) < budget_s; ++trial)
    best = std::max(best, sample(limit));
  return best;
}

double MachineProbe::sample(Limit limit) const {
  constexpr int64_t kRounds = 500'000;
  const auto f32 = [&] { return cpu::multiply_add_f32(kRounds, context_.isa); };
  const char* data = buffer_.as<char>();
  switch (limit) {
    case Limit::kDramRead: {
      const size_t trial = trial_.fetch_add(1) % trials_;
      return read_rate(context_, data + trial * dram_bytes_ * threads_of(context_), dram_bytes_, 1);
    }
    case Limit::kL3Read:
      // No thread may read more than its part of the buffer, which is small if there are many.
      return read_rate(context_, data,
                       std::min(dram_bytes_, l3_read_bytes(cpu_facts(), context_.threads)), 8);
    case Limit::kL2Read:
      return read_rate(context_, data,
                       std::min(dram_bytes_, l2_read_bytes(cpu_facts(), context_.threads)), 200);
    case Limit::kF32:
      return flop_rate(context_, f32);
    case Limit::kBf16:
      switch (context_.isa) {
        case Isa::kAmx:
          return flop_rate(context_, [] { return cpu::multiply_tiles(kRounds); });
        case Isa::kAvx512Bf16:
          return flop_rate(context_, [] { return cpu::dot_bf16(kRounds); });
        default:
          return flop_rate(context_, f32);
      }
    case Limit::kDeviceRead:
    case Limit::kDeviceHalf:
      REPRISE_CHECK(false, "{} asked of the processor's probe", name_of(limit));
  }
  return 0.0;
}

MachineLimits probe_machine(const Context& context) {
  const int64_t begin_ns = steady_now_ns();
  const MachineProbe probe(context);
  MachineLimits limits{.dram_read_gb_s = probe.measure(Limit::kDramRead, 0.5),
                       .l3_read_gb_s = probe.measure(Limit::kL3Read, 0.2),
                       .l2_read_gb_s = probe.measure(Limit::kL2Read, 0.15),
                       .f32_gflop_s = probe.measure(Limit::kF32, 0.25)};
  limits.bf16_gflop_s =
      has_bf16_dot(context.isa) ? probe.measure(Limit::kBf16, 0.25) : limits.f32_gflop_s;
  limits.elapsed_s = seconds_since(begin_ns);
  return limits;
}

double dot_product_rate(const Context& context) {
  constexpr int kTrials = 5;
  constexpr int64_t kRounds = 200'000;
  double best = 0.0;
  for (int trial = 0; trial < kTrials; ++trial)
    best = std::max(best, flop_rate(context, [] { return cpu::dot_bf16(kRounds); }));
  return best;
}

const MachineLimits& machine_limits(const Context& context) {
  static std::map<std::pair<int, Isa>, MachineLimits> known;
  const auto [at, is_new] = known.try_emplace({context.threads, context.isa});
  if (is_new) at->second = probe_machine(context);
  return at->second;
}

}  // namespace reprise
