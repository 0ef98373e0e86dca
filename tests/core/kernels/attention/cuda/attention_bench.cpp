// Time of one layer's attention on a CUDA device at the papers' sizes, by the device's clock, with
// the bytes and FLOPs that any kernel has to move and compute for the plan.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/kernels/attention/cuda/attention.cuh"
#include "core/kernels/attention/cuda/step_attention_cuda.h"
#include "tests/core/kernels/attention/cuda/attention_steps.h"
#include "tests/core/kernels/device/cuda/device_bench.cuh"

namespace reprise::kernels::cuda::testing {
namespace {

// A scheduled step of one layer on the device. run() reads the queries of all rows, which lie on
// the device, and writes bf16.
struct DeviceStep {
  DeviceStep(const Step& step, const std::shared_ptr<reprise::cuda::CudaDevice>& on,
             const TileOverride& tiles)
      : device(on),
        keys(random_numbers(on, cache_bytes(step))),
        values(random_numbers(on, cache_bytes(step))),
        q(random_numbers(on, row_bytes(step))),
        out(on, row_bytes(step)),
        plan(plan_of(step, cache_of(step, keys.data(), values.data()))),
        params({.scale = 1.0f / std::sqrt(static_cast<float>(step.heads.head_dim))}),
        attention(*on) {
    attention.begin(plan, step.heads.heads, params, model_of(*on), RowResults::kFinished, tiles);
    row_stride = step.heads.heads * step.heads.head_dim;
  }
  void run() {
    attention.run(0, {.data = q.data(), .dtype = DType::kBF16, .row_stride = row_stride},
                  {.data = out.data(), .dtype = DType::kBF16}, device->stream());
  }

  static size_t cache_bytes(const Step& step) {
    return static_cast<size_t>(blocks_of(step) * block_elements(step)) * size_of(DType::kBF16);
  }
  static size_t row_bytes(const Step& step) {
    return static_cast<size_t>(step.rows * step.heads.heads * step.heads.head_dim) *
           size_of(DType::kBF16);
  }

  std::shared_ptr<reprise::cuda::CudaDevice> device;
  Buffer keys, values, q, out;
  kv::AttentionPlan plan;
  AttentionParams params;
  int64_t row_stride = 0;
  DeviceAttention attention;
};

void time_step(benchmark::State& state, const Step& step, const TileOverride& tiles) try {
  DeviceStep on_device(step, bench_device().device, tiles);
  const AttentionWork work = least_work(on_device.plan, step.heads.heads, on_device.params);
  time_on_device(state, work.bytes(), work.flops, [&] { on_device.run(); });
  state.SetLabel("bf16");
} catch (const Error& error) {  // a tile that this device or build does not have
  state.SkipWithError(error.what());
}

void add(const std::string& group, const Step& step, const TileOverride& tiles = {}) {
  benchmark::RegisterBenchmark(
      (group + "/" + name_of(step)).c_str(),
      [step, tiles](benchmark::State& state) { time_step(state, step, tiles); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda;
  using namespace reprise::kernels::cuda::testing;
  // Each step twice, to show whether a separate kernel merges partial results faster or the block
  // that arrives last.
  const auto add_both = [](const std::string& group, const Step& step) {
    add(group, step);
    add(group + "_last_block", step, {.merges_in_last_block = true});
  };
  for (const Step& step : kSteps) add_both("attention", step);
  for (const Step& step : table3_steps()) add_both("table3", step);
  // Runs each step with every tile, and decode steps with every number of parts, to show which of
  // them pay and whether choose_tiles() chooses these.
  for (size_t i = 0; i < kTileShapes.size(); ++i)
    for (const Step& step : kSteps) {
      if (!kTileShapes[i].has_head_dim(step.heads.head_dim)) continue;
      const std::string tile = "tile/" + text_of(kTileShapes[i]);
      const auto shape = static_cast<int32_t>(i);
      add(tile, step, {.shape = shape});
      if (step.is_prefill) continue;
      for (const int32_t parts : {1, 2, 4, 8, 12, 16, 24, 32})
        add(tile + "/parts:" + std::to_string(parts), step, {.shape = shape, .parts = parts});
    }
  return run_benchmarks(argc, argv);
}
