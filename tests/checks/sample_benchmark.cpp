// A benchmark program for the tests of `reprise check`: one loop is bound by memory, one by
// arithmetic. REPRISE_SAMPLE_WORK scales the work that they do, but not the work that they report:
// 1.10 is a deliberate slowdown of 10 %.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/device/cpu/probe.h"

namespace reprise::checks {
namespace {

constexpr double kWork = REPRISE_SAMPLE_WORK;

void Memory(benchmark::State& state) {
  const Context context = Context::machine();
  constexpr size_t kPage = 4096, kNominal = size_t{96} << 20;
  const auto scaled = static_cast<size_t>(kWork * static_cast<double>(kNominal));
  static const AlignedBuffer buffer = [&] {
    AlignedBuffer filled(scaled + kPage);
    std::fill_n(filled.as<char>(), filled.bytes(), char{1});
    return filled;
  }();
  const size_t share = scaled / static_cast<size_t>(context.threads) / kPage * kPage;
  for (auto _ : state)
    parallel_for(context, context.threads, [&](int64_t item, int) {
      benchmark::DoNotOptimize(
          cpu::read_all(buffer.as<char>() + static_cast<size_t>(item) * share, share, context.isa));
    });
  state.counters["B/s"] = benchmark::Counter(static_cast<double>(kNominal),
                                             benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Memory)->UseRealTime()->Unit(benchmark::kMillisecond);

void Compute(benchmark::State& state) {
  const Context context = Context::machine();
  constexpr int64_t kRounds = 100'000;
  const auto scaled = static_cast<int64_t>(kWork * static_cast<double>(kRounds));
  double flops = 0;
  for (auto _ : state)
    parallel_for(context, context.threads, [&](int64_t item, int) {
      const double mine = cpu::multiply_add_f32(scaled, context.isa);
      if (item == 0) flops = mine * context.threads / kWork;
    });
  state.SetLabel("f32");
  state.counters["FLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Compute)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reprise::checks

BENCHMARK_MAIN();
