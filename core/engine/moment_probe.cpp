#include "core/engine/moment_probe.h"

#include <algorithm>
#include <chrono>

#include "core/kernels/cpu/probe.h"

namespace reprise::engine {
namespace {

size_t buffer_size() {
  constexpr size_t kLeast = size_t{256} << 20;
  const CpuFacts& cpu = cpu_facts();
  return std::max(kLeast, 4 * static_cast<size_t>(cpu.l3_bytes * cpu.l3_instances));
}

template <typename Fn>
double seconds_of(Fn&& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

MomentProbe::MomentProbe(const Context& context, bool in_bf16)
    : context_(context),
      in_bf16_(in_bf16 && context.isa == Isa::kAvx512Bf16),
      buffer_(buffer_size()) {
  // Pages never written share one page of zeros.
  std::fill_n(buffer_.as<char>(), buffer_.bytes(), char{1});
}

MomentRates MomentProbe::measure() const {
  const double flops = gflop_s();
  return {.dram_read_gb_s = read_gb_s(), .gflop_s = flops};
}

double MomentProbe::read_gb_s() const {
  constexpr size_t kPage = 4096;
  const size_t share = buffer_.bytes() / static_cast<size_t>(context_.threads) / kPage * kPage;
  const double s = seconds_of([&] {
    parallel_for(context_, context_.threads, [&](int64_t item, int) {
      volatile float kept = kernels::cpu::read_all(
          buffer_.as<char>() + static_cast<size_t>(item) * share, share, context_.isa);
      (void)kept;
    });
  });
  return static_cast<double>(share) * context_.threads / s * 1e-9;
}

double MomentProbe::gflop_s() const {
  constexpr int64_t kRounds = 500'000;  // some 3 ms
  double flops = 0.0;
  const double s = seconds_of([&] {
    parallel_for(context_, context_.threads, [&](int64_t item, int) {
      const double mine = in_bf16_ ? kernels::cpu::dot_bf16(kRounds)
                                   : kernels::cpu::multiply_add_f32(kRounds, context_.isa);
      if (item == 0) flops = mine * context_.threads;
    });
  });
  return flops / s * 1e-9;
}

}  // namespace reprise::engine
