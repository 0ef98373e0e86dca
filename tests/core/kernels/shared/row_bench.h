// Sizes, memory and timing that the benchmarks of row operations share: the widths of Llama-2-7B,
// one decoded row and a prefill chunk; bytes/s count what must be read and written once.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

#include "core/device/buffer.h"
#include "core/device/context.h"

namespace reprise::kernels::testing {

// Looked up only once, because reading the environment would distort the time of calls that take a
// microsecond.
inline const Context& machine() {
  static const Context context = Context::machine();
  return context;
}

inline constexpr int64_t kHidden = 4096, kIntermediate = 11008, kHeads = 32, kHeadDim = 128;

template <typename Fn>
void run(benchmark::State& state, double bytes, Fn&& fn) {
  for (auto _ : state) fn();
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

inline AlignedBuffer filled(int64_t count) {
  AlignedBuffer buffer(static_cast<size_t>(count) * sizeof(float));
  for (float& value : buffer.span<float>()) value = 0.5f;
  return buffer;
}

}  // namespace reprise::kernels::testing
