// Helpers for benchmarks that run on a device: the device, its limits, and how a row is timed.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/device/buffer.h"
#include "core/kernels/device/cuda/backend.h"
#include "core/kernels/device/cuda/device_probe.h"
#include "core/kernels/device/cuda/probe_kernels.cuh"
#include "core/kernels/device/cuda/timing.h"

namespace reprise::kernels::cuda::testing {

struct BenchDevice {
  std::shared_ptr<reprise::cuda::CudaDevice> device = open_cuda();
  DeviceLimits limits = probe_rates(device);  // in this process, so that a row is judged by what
                                              // the device reaches now
  std::unique_ptr<reprise::cuda::DeviceMonitor> monitor = monitor_of(*device);
};

inline BenchDevice& bench_device() {
  static BenchDevice opened;
  return opened;
}

// A buffer of at least `bytes` bytes, filled on the device with random bf16 numbers whose magnitude
// is from 0.5 to 1.
inline Buffer random_numbers(const std::shared_ptr<reprise::cuda::CudaDevice>& device,
                             size_t bytes) {
  constexpr size_t kWord = sizeof(uint32_t);
  Buffer buffer(device, (bytes + kWord - 1) / kWord * kWord);
  fill_random(buffer.as<uint32_t>(), static_cast<int64_t>(buffer.bytes() / kWord),
              device->stream());
  return buffer;
}

// Runs work() until Google Benchmark has enough. Each run is timed by events and begins with none
// of its data in L2. The row states bytes, FLOPs and the rates that the device reaches for both;
// `reprise check` judges by these.
inline void time_on_device(benchmark::State& state, double bytes, double flops,
                           const std::function<void()>& work) {
  BenchDevice& bench = bench_device();
  DeviceTimer timer(bench.device, DeviceTimer::Cache::kCold);
  work();  // loads the kernels
  bench.device->synchronize();
  for (auto _ : state) state.SetIterationTime(1e-3 * timer.ms_of(work));
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  const double least_s =
      std::max(bytes / (1e9 * bench.limits.read_gb_s), flops / (1e12 * bench.limits.half_tflop_s));
  state.counters["of limit"] = benchmark::Counter(least_s, rate);  // least time / time
  state.counters["B/s"] = benchmark::Counter(bytes, rate);
  state.counters["device B/s"] = 1e9 * bench.limits.read_gb_s;
  if (flops > 0) {
    state.counters["FLOP/s"] = benchmark::Counter(flops, rate);
    state.counters["device FLOP/s"] = 1e12 * bench.limits.half_tflop_s;
  }
  const reprise::cuda::DeviceState now = bench.monitor->state();  // just after the work
  state.counters["SM MHz"] = now.sm_mhz;
  state.counters["throttle reasons"] =
      static_cast<double>(reprise::cuda::throttle_names(now.throttle_reasons).size());
}

// The rest of main(), after the benchmarks are registered. Listing them needs no device; running
// one without a device ends with status 1 and the reason.
inline int run_benchmarks(int argc, char** argv) {
  const bool only_lists = std::any_of(argv, argv + argc, [](const char* argument) {
    return std::string_view(argument).starts_with("--benchmark_list_tests");
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  try {
    if (!only_lists) {
      const BenchDevice& bench = bench_device();
      benchmark::AddCustomContext(
          "device", json_text(written_fields(machine_device(*bench.device, bench.limits))));
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace reprise::kernels::cuda::testing
