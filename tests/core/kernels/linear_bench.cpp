// Time of linear layers at real shapes: a decode step streams the weights (bytes/s against the
// memory's limit), a prefill chunk multiplies (FLOP/s against the processor's).
#include <benchmark/benchmark.h>

#include <array>
#include <string>

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

void run(benchmark::State& state, const Layer& layer, DType dtype, int64_t m) {
  const Context context = Context::machine();
  // Weights do not change timings, but pages never written share one page of zeros.
  const Weight w(
      layer.rows, layer.cols, format_of(dtype),
      [&](int64_t first, int64_t end, void* out) {
        std::fill_n(static_cast<char*>(out),
                    static_cast<size_t>((end - first) * layer.cols) * size_of(dtype), char{60});
      },
      context);
  AlignedBuffer x(static_cast<size_t>(m * layer.cols) * size_of(dtype));
  AlignedBuffer out(static_cast<size_t>(m * layer.rows) * sizeof(float));
  LinearWorkspace workspace;
  const LinearCall call{.x = x.data(), .m = m, .out = out.data()};
  call.run(w, workspace, context);  // makes the product's primitive
  for (auto _ : state) call.run(w, workspace, context);
  state.SetLabel(std::string(name_of(dtype)));  // which FLOP limit counts
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["B/s"] = benchmark::Counter(
      static_cast<double>(layer.rows * layer.cols) * static_cast<double>(size_of(dtype)), rate);
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(m * layer.rows * layer.cols), rate);
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
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
