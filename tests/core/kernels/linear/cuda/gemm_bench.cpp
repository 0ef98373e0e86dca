// Time of the matrix products of Llama-2-7B and Llama-3-8B on a CUDA device, by the device's clock.
// Decode steps are bound by reading the weights, prefills by multiplying.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/kernels/linear/cuda/coded_weight.h"
#include "core/kernels/linear/cuda/gemm.h"
#include "tests/core/kernels/device/cuda/device_bench.cuh"

namespace reprise::kernels::cuda::testing {
namespace {

struct Layer {
  const char* model;
  const char* name;
  int64_t outputs, inputs;
};
constexpr Layer kLayers[] = {
    {"llama-2-7b", "qkv", 3 * 4096, 4096},      {"llama-2-7b", "out", 4096, 4096},
    {"llama-2-7b", "gate_up", 2 * 11008, 4096}, {"llama-2-7b", "down", 4096, 11008},
    {"llama-2-7b", "head", 32000, 4096},        {"llama-3-8b", "gate_up", 2 * 14336, 4096}};

void time_product(benchmark::State& state, const Layer& layer, int64_t m) {
  const auto& device = bench_device().device;
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * 2; };
  Buffer x = random_numbers(device, bytes(m * layer.inputs));
  Buffer w = random_numbers(device, bytes(layer.outputs * layer.inputs));
  Buffer out(device, bytes(m * layer.outputs));
  const std::unique_ptr<Gemm> gemm = make_gemm(*device);
  const GemmCall call{.x = x.data(),
                      .w = w.data(),
                      .dtype = DType::kBF16,
                      .m = m,
                      .n = layer.outputs,
                      .k = layer.inputs,
                      .out = out.data(),
                      .out_dtype = DType::kBF16};
  const auto moved = static_cast<double>(x.bytes() + w.bytes() + out.bytes());
  const auto flops =
      2.0 * static_cast<double>(m * layer.outputs) * static_cast<double>(layer.inputs);
  time_on_device(state, moved, flops, [&] { gemm->run(call); });
  state.SetLabel("bf16");
}

// The layer's weights as codes; the time does not depend on their values. They are kept until
// another format is asked for, because making them takes longer than a benchmark.
const CodedWeight& coded_weight(const Layer& layer, WeightFormat format, const Context& context) {
  static const std::unique_ptr<Gemm> gemm = make_gemm(*bench_device().device);
  static const auto tile = std::make_shared<ExpandedTile>(bench_device().device);
  static std::map<WeightFormat, CodedWeight> kept;
  if (!kept.contains(format)) {
    kept.clear();
    const auto fill = [&](int64_t first, int64_t end, void* out) {
      auto* values = static_cast<float*>(out);
      for (int64_t i = 0; i < (end - first) * layer.inputs; ++i)
        values[i] = static_cast<float>((first + i * 7) % 31) - 15.0f;
    };
    kept.try_emplace(format, layer.outputs, layer.inputs, WeightType{format, DType::kBF16}, fill,
                     context, *gemm, tile);
  }
  return kept.at(format);
}

// A layer whose weights are codes.
void time_coded_product(benchmark::State& state, const Layer& layer, WeightFormat format,
                        int64_t m) {
  const auto& device = bench_device().device;
  const Context context{
      .threads = 16, .isa = best_isa(), .device = Device::kCuda, .runtime = device};
  const CodedWeight& weight = coded_weight(layer, format, context);
  Buffer x = random_numbers(device, static_cast<size_t>(m * layer.inputs) * 2);
  Buffer out(device, static_cast<size_t>(m * layer.outputs) * 2);
  const LinearCall call{.x = x.data(), .m = m, .out = out.data(), .out_dtype = DType::kBF16};
  LinearWorkspace workspace;
  const auto moved = static_cast<double>(x.bytes() + weight.bytes() + out.bytes());
  const auto flops =
      2.0 * static_cast<double>(m * layer.outputs) * static_cast<double>(layer.inputs);
  time_on_device(state, moved, flops,
                 [&] { weight.apply(call, 0, layer.outputs, workspace, context); });
  state.SetLabel(std::string(name_of(format)));
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda::testing;
  for (const Layer& layer : kLayers)
    for (const int64_t m : {1, 32, 256, 2048})
      benchmark::RegisterBenchmark(
          (std::string("gemm/") + layer.model + "/" + layer.name + "/m:" + std::to_string(m))
              .c_str(),
          [&layer, m](benchmark::State& state) { time_product(state, layer, m); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
  // One layer, from one row to more rows than are multiplied with the codes directly: 129 rows take
  // hardly longer than one row would if its weights were expanded first.
  using reprise::WeightFormat;
  for (const WeightFormat format :
       {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4, WeightFormat::kNf4Double})
    for (const int64_t m : {1, 8, 16, 32, 64, 128, 129, 256, 2048})
      benchmark::RegisterBenchmark(
          ("gemm/llama-2-7b/gate_up/" + std::string(name_of(format)) + "/m:" + std::to_string(m))
              .c_str(),
          [format, m](benchmark::State& state) {
            time_coded_product(state, kLayers[2], format, m);
          })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
  return run_benchmarks(argc, argv);
}
