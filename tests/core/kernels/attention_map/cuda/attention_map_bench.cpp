// Time of the map kernels on a CUDA device at the width of Llama-2-7B, by the device's clock, for a
// causal prompt whose keys lie in one block; maps are in the device's memory.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "core/kernels/attention_map/cuda/map_tiles.h"
#include "tests/core/kernels/attention_map/cuda/map_cases.h"
#include "tests/core/kernels/device/cuda/device_bench.cuh"

namespace reprise::kernels::cuda::testing {
namespace {

constexpr int64_t kCols = kMapHeads * kMapHeadDim;

// The memory that the kernels read and write.
class Prompt {
 public:
  explicit Prompt(const MapCase& one) : case_(one) {
    const auto tokens = static_cast<int32_t>(one.tokens);
    plan_.caches = {{.keys = take(2 * kCols * one.tokens),
                     .values = take(2 * kCols * one.tokens),
                     .dtype = DType::kBF16,
                     .device = Device::kCuda,
                     .layer_stride = 0,
                     .head_stride = one.tokens * kMapHeadDim,
                     .kv_heads = kMapHeads,
                     .head_dim = kMapHeadDim}};
    plan_.block_offsets = {0};
    plan_.segments = {{.first_block = 0, .block_tokens = tokens, .tokens = tokens}};
    plan_.items = {
        {.segment = 0, .first_row = 0, .end_row = tokens, .mask = kv::Mask::kCausal, .visible = 1}};
    for (int32_t t = 0; t < tokens; ++t) {
      plan_.row_positions.push_back(t);
      plan_.row_lengths.push_back(t + 1);
      plan_.row_slots.push_back(0);
    }
    plan_.finish();
    const MapTiles tiles = map_tiles(plan_, {});
    keys_ = {.runs = copied(tiles.runs),
             .tiles = copied(tiles.tiles),
             .tile_count = std::ssize(tiles.tiles),
             .seen = copied(tiles.seen),
             .dtype = DType::kBF16,
             .heads = kMapHeads,
             .kv_heads = kMapHeads,
             .head_dim = kMapHeadDim};
    positions_ = copied(plan_.row_positions);
    rows_ = take(4 * kCols * one.tokens);
    map_ = take(4 * kMapHeads * one.tokens * one.tokens);
    scales_ = static_cast<float*>(take(4 * kMapHeads * one.tokens));
  }

  void compute() const {
    compute_map({.of = keys_,
                 .q = static_cast<const float*>(rows_),
                 .q_row_stride = kCols,
                 .scale = 1.0f / std::sqrt(static_cast<float>(kMapHeadDim)),
                 .positions = positions_,
                 .map = static_cast<float*>(map_),
                 .rows = case_.tokens,
                 .keys = case_.tokens},
                device()->stream());
  }
  void apply() const {
    apply_map({.of = keys_,
               .map = map_,
               .map_dtype = case_.map_dtype,
               .head_stride = case_.tokens * case_.tokens,
               .row_stride = case_.tokens,
               .row_scales = case_.has_bytes ? scales_ : nullptr,
               .scale_head_stride = case_.tokens,
               .out = rows_,
               .out_dtype = DType::kBF16},
              device()->stream());
  }

 private:
  static const std::shared_ptr<reprise::cuda::CudaDevice>& device() {
    return bench_device().device;
  }
  void* take(int64_t bytes) {
    buffers_.push_back(random_numbers(device(), static_cast<size_t>(bytes)));
    return buffers_.back().data();
  }
  template <typename T>
  const T* copied(const std::vector<T>& values) {
    buffers_.emplace_back(device(), values.size() * sizeof(T));
    device()->copy_in(buffers_.back().data(), values.data(), values.size() * sizeof(T));
    return buffers_.back().template as<T>();
  }

  MapCase case_;
  std::vector<Buffer> buffers_;
  kv::AttentionPlan plan_;
  MapKeys keys_;
  const int32_t* positions_ = nullptr;
  void* rows_ = nullptr;
  void* map_ = nullptr;
  float* scales_ = nullptr;
};

void time_map(benchmark::State& state, const MapCase& one) {
  const Prompt prompt(one);
  time_on_device(state, one.bytes(), one.flops(),
                 [&] { one.is_applied ? prompt.apply() : prompt.compute(); });
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda::testing;
  for (const MapCase& one : map_cases())
    benchmark::RegisterBenchmark(
        (std::string(one.name) + "/tokens:" + std::to_string(one.tokens)).c_str(),
        [one](benchmark::State& state) { time_map(state, one); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  return run_benchmarks(argc, argv);
}
