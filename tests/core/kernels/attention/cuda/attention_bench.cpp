// Time of one layer's attention on a CUDA device at the papers' sizes, by the device's clock, with
// the bytes and FLOPs that any kernel has to move and compute for the plan.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/kernels/attention/cuda/attention.cuh"
#include "core/kernels/attention/cuda/step_attention_cuda.h"
#include "tests/core/kernels/attention/cuda/attention_steps.h"
#include "tests/core/kernels/device/cuda/device_bench.cuh"

namespace reprise::kernels::cuda::testing {
namespace {

// A scheduled step on the device. Each run() is the attention of the pool's next layer: it reads
// the queries of all rows, which lie on the device, and writes bf16.
struct DeviceStep {
  DeviceStep(const Step& step, const std::shared_ptr<reprise::cuda::CudaDevice>& on,
             const TileOverride& tiles, const Pool& pool)
      : device(on),
        layers(pool.layers),
        keys(random_numbers(on, layer_bytes(step) * static_cast<size_t>(layers))),
        values(random_numbers(on, keys.bytes())),
        q(random_numbers(on, row_bytes(step))),
        out(on, row_bytes(step)),
        plan(plan_of(step, cache_of(step, keys.data(), values.data(), pool), pool)),
        params({.scale = 1.0f / std::sqrt(static_cast<float>(step.heads.head_dim))}),
        attention(*on) {
    attention.begin(plan, step.heads.heads, params, model_of(*on), RowResults::kFinished, tiles);
    row_stride = step.heads.heads * step.heads.head_dim;
  }
  void run() {
    attention.run(layer, {.data = q.data(), .dtype = DType::kBF16, .row_stride = row_stride},
                  {.data = out.data(), .dtype = DType::kBF16}, device->stream());
    layer = (layer + 1) % layers;
  }

  // Bytes of the keys of one layer.
  static size_t layer_bytes(const Step& step) {
    return static_cast<size_t>(blocks_of(step) * block_elements(step)) * size_of(DType::kBF16);
  }
  static size_t row_bytes(const Step& step) {
    return static_cast<size_t>(step.rows * step.heads.heads * step.heads.head_dim) *
           size_of(DType::kBF16);
  }

  std::shared_ptr<reprise::cuda::CudaDevice> device;
  int64_t layers, layer = 0;
  Buffer keys, values, q, out;
  kv::AttentionPlan plan;
  AttentionParams params;
  int64_t row_stride = 0;
  DeviceAttention attention;
};

void time_step(benchmark::State& state, const Step& step, const TileOverride& tiles,
               const Pool& pool) try {
  DeviceStep on_device(step, bench_device().device, tiles, pool);
  const AttentionWork work = least_work(on_device.plan, step.heads.heads, on_device.params);
  time_on_device(state, work.bytes(), work.flops, [&] { on_device.run(); });
  state.SetLabel("bf16");
} catch (const Error& error) {  // a tile that this device or build does not have
  state.SkipWithError(error.what());
}

void add(const std::string& group, const Step& step, const TileOverride& tiles = {},
         const Pool& pool = {}) {
  benchmark::RegisterBenchmark(
      (group + "/" + name_of(step)).c_str(),
      [=](benchmark::State& state) { time_step(state, step, tiles, pool); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

// Adds a decode step that reads the layers of a pool in turn, in both orders of the pool's memory.
// The pool has 32 layers, or as many as fit into kMostBytes. `--benchmark_filter=^pool
// --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true` compares the orders.
void add_both_orders(const Step& step) {
  constexpr size_t kMostBytes = size_t{36} << 30;
  const size_t layers = std::min<size_t>(32, kMostBytes / (2 * DeviceStep::layer_bytes(step)));
  for (const bool blocks_first : {false, true})
    add(blocks_first ? "pool/blocks_first" : "pool/layers_first", step, {},
        {.layers = static_cast<int64_t>(layers), .blocks_first = blocks_first});
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda;
  using namespace reprise::kernels::cuda::testing;
  // The steps of "last_block" are the same, but the block that arrives last merges partial results,
  // not a separate kernel.
  const auto add_both = [](const std::string& group, const Step& step) {
    add(group, step);
    add("last_block/" + group, step, {.merges_in_last_block = true});
  };
  for (const Step& step : kSteps) add_both("attention", step);
  for (const Step& step : table3_steps()) add_both("table3", step);
  for (const Step& step : kSteps)
    if (!step.is_prefill) add_both_orders(step);
  // Runs each step with every tile, and decode steps with every number of parts, to show which of
  // them pay and whether choose_tiles() chooses these.
  for (size_t i = 0; i < kTileShapes.size(); ++i)
    for (const Step& step : kSteps) {
      if (!kTileShapes[i].has_head_dim(step.heads.head_dim)) continue;
      const std::string tile = "tile/" + text_of(kTileShapes[i]);
      const auto shape = static_cast<int32_t>(i);
      add(tile, step, {.shape = shape});
      if (step.is_prefill || kTileShapes[i].by_tensor_maps) continue;
      for (const int32_t parts : {1, 2, 4, 8, 12, 16, 24, 32})
        add(tile + "/parts:" + std::to_string(parts), step, {.shape = shape, .parts = parts});
    }
  return run_benchmarks(argc, argv);
}
