// Time of linear layers at real shapes: a decode step streams the weights (bytes/s against the
// memory's limit), a prefill chunk multiplies (FLOP/s against the processor's).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/kernels/linear.h"

namespace reprise::kernels {
namespace {

struct Layer {
  const char* name;
  int64_t rows, cols;
};

// Fused as the decoder runs them.
constexpr std::array kTinyLlama = {Layer{"qkv", 2560, 2048}, Layer{"attention_out", 2048, 2048},
                                   Layer{"gate_up", 11264, 2048}, Layer{"down", 2048, 5632},
                                   Layer{"head", 32000, 2048}};
constexpr std::array kLlama2 = {Layer{"qkv", 12288, 4096}, Layer{"attention_out", 4096, 4096},
                                Layer{"gate_up", 22016, 4096}, Layer{"down", 4096, 11008},
                                Layer{"head", 32000, 4096}};

// Values do not change timings, but pages never written share one page of zeros.
Weight weight_of(const Layer& layer, DType dtype, const Context& context) {
  return {layer.rows, layer.cols, format_of(dtype),
          [&](int64_t first, int64_t end, void* out) {
            std::fill_n(static_cast<char*>(out),
                        static_cast<size_t>((end - first) * layer.cols) * size_of(dtype), char{60});
          },
          context};
}

// Of a step that multiplies m rows with `weights` values.
void set_rates(benchmark::State& state, int64_t m, int64_t weights, DType dtype) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["B/s"] =
      benchmark::Counter(static_cast<double>(weights) * static_cast<double>(size_of(dtype)), rate);
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(m * weights), rate);
}

void run(benchmark::State& state, const Layer& layer, DType dtype, int64_t m) {
  const Context context = Context::machine();
  const Weight w = weight_of(layer, dtype, context);
  AlignedBuffer x(static_cast<size_t>(m * layer.cols) * size_of(dtype));
  AlignedBuffer out(static_cast<size_t>(m * layer.rows) * sizeof(float));
  LinearWorkspace workspace;
  const LinearCall call{.x = x.data(), .m = m, .out = out.data()};
  call.run(w, workspace, context);  // makes the product's primitive
  for (auto _ : state) call.run(w, workspace, context);
  state.SetLabel(std::string(name_of(dtype)));  // which FLOP limit counts
  set_rates(state, m, layer.rows * layer.cols, dtype);
}

// The layers of TinyLlama one after another, so that weights come from memory and not from a cache:
// a step of a batch, or of a prompt whose other tokens are cached.
void run_model(benchmark::State& state, int64_t m) {
  constexpr int kLayers = 22, kOfLayer = 4;  // without the head
  const Context context = Context::machine();
  std::vector<Weight> weights;
  int64_t values = 0, widest = 0;
  for (int i = 0; i < kLayers * kOfLayer; ++i) {
    const Layer& layer = kTinyLlama[static_cast<size_t>(i % kOfLayer)];
    weights.push_back(weight_of(layer, DType::kBF16, context));
    values += layer.rows * layer.cols;
    widest = std::max({widest, layer.rows, layer.cols});
  }
  const AlignedBuffer x(static_cast<size_t>(m * widest) * sizeof(bf16));
  AlignedBuffer out(static_cast<size_t>(m * widest) * sizeof(float));
  LinearWorkspace workspace;
  const auto step = [&] {
    for (const Weight& w : weights)
      LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(w, workspace, context);
  };
  step();
  for (auto _ : state) step();
  state.SetLabel(std::string(name_of(DType::kBF16)));
  set_rates(state, m, values, DType::kBF16);
}

void add(const char* model, const Layer& layer) {
  for (DType dtype : {DType::kBF16, DType::kF32})
    for (int64_t m : {1, 512}) {
      const std::string name = std::string("Linear/") + model + "/" + layer.name + "/" +
                               std::string(name_of(dtype)) + "/m:" + std::to_string(m);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { run(state, layer, dtype, m); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace
}  // namespace reprise::kernels

int main(int argc, char** argv) {
  for (const auto& layer : reprise::kernels::kTinyLlama)
    reprise::kernels::add("tinyllama-1.1b", layer);
  for (const auto& layer : reprise::kernels::kLlama2) reprise::kernels::add("llama-2-7b", layer);
  for (const int64_t m : {4, 8, 16, 32, 40, 64})
    benchmark::RegisterBenchmark(
        ("Linear/tinyllama-1.1b/layers/bf16/m:" + std::to_string(m)).c_str(),
        [=](benchmark::State& state) { reprise::kernels::run_model(state, m); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
