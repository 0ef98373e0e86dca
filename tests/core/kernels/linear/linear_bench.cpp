// Time of linear layers at real shapes: a decode step streams the weights (bytes/s against the
// memory's limit), a prefill chunk multiplies (FLOP/s against the processor's).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels {
namespace {

struct Layer {
  const char* name;
  int64_t rows, cols;
};

// The layers are fused as the decoder runs them.
constexpr std::array kTinyLlama = {Layer{"qkv", 2560, 2048}, Layer{"attention_out", 2048, 2048},
                                   Layer{"gate_up", 11264, 2048}, Layer{"down", 2048, 5632},
                                   Layer{"head", 32000, 2048}};
constexpr std::array kLlama2 = {Layer{"qkv", 12288, 4096}, Layer{"attention_out", 4096, 4096},
                                Layer{"gate_up", 22016, 4096}, Layer{"down", 4096, 11008},
                                Layer{"head", 32000, 4096}};
// An expert of DeepSeek-MoE, of which a layer has 64.
constexpr std::array kDeepseekExpert = {Layer{"up", 2816, 2048}, Layer{"down", 2048, 1408}};

// Timings do not depend on the values, but values must be written: pages never written share one
// page of zeros.
Weight weight_of(const Layer& layer, WeightType type, const Context& context) {
  return {layer.rows, layer.cols, type,
          [&](int64_t first, int64_t end, void* out) {
            const auto values = static_cast<size_t>((end - first) * layer.cols);
            std::fill_n(static_cast<char*>(out), values * size_of(source_dtype(type.format)),
                        char{60});
          },
          context};
}

// The label: the name of the FLOP limit, and the format of quantized weights.
std::string label_of(WeightType type) {
  const std::string input(name_of(type.input));
  return is_quantized(type.format) ? fmt::format("{} {}", input, name_of(type.format)) : input;
}

// Sets the rates of a step that multiplies m rows with `weights` values, held in `bytes`.
void set_rates(benchmark::State& state, int64_t m, int64_t weights, size_t bytes) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["B/s"] = benchmark::Counter(static_cast<double>(bytes), rate);
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(m * weights), rate);
}

void run(benchmark::State& state, const Layer& layer, WeightType type, int64_t m) {
  const Context context = Context::machine();
  const Weight w = weight_of(layer, type, context);
  AlignedBuffer x(static_cast<size_t>(m * layer.cols) * size_of(type.input));
  AlignedBuffer out(static_cast<size_t>(m * layer.rows) * sizeof(float));
  LinearWorkspace workspace;
  const LinearCall call{.x = x.data(), .m = m, .out = out.data()};
  call.run(w, workspace, context);  // makes the workspace's buffers
  for (auto _ : state) call.run(w, workspace, context);
  state.SetLabel(label_of(type));
  set_rates(state, m, layer.rows * layer.cols, w.bytes());
}

// Matrices that a step multiplies with one after another, all of them in memory.
struct Stack {
  const char* name;
  std::span<const Layer> layers;
  int copies;
};

// More weights than a cache holds, as in a step of a batch, or of a prompt whose other tokens are
// cached.
const Stack kLayers = {"tinyllama-1.1b/layers", std::span(kTinyLlama).first(4), 22};
// Each expert has m rows.
const Stack kExperts = {"deepseek-moe-16b/experts", kDeepseekExpert, 64};

void run_stack(benchmark::State& state, const Stack& stack, WeightFormat format, int64_t m) {
  const Context context = Context::machine();
  const WeightType type(format, DType::kBF16);
  std::vector<Weight> weights;
  int64_t values = 0, widest = 0;
  size_t bytes = 0;
  for (int copy = 0; copy < stack.copies; ++copy)
    for (const Layer& layer : stack.layers) {
      weights.push_back(weight_of(layer, type, context));
      values += layer.rows * layer.cols;
      bytes += weights.back().bytes();
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
  state.SetLabel(label_of(type));
  set_rates(state, m, values, bytes);
}

// Times making the codes of a matrix whose values lie in memory.
void quantize(benchmark::State& state, const Layer& layer, WeightFormat format) {
  const Context context = Context::machine();
  std::vector<float> values(static_cast<size_t>(layer.rows * layer.cols));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 2654435761u % 4093) / 2046.5f - 1.0f;
  const auto fill = [&](int64_t first, int64_t end, void* out) {
    std::memcpy(out, values.data() + first * layer.cols,
                static_cast<size_t>((end - first) * layer.cols) * sizeof(float));
  };
  for (auto _ : state)
    benchmark::DoNotOptimize(Weight(layer.rows, layer.cols, format, fill, context));
  state.counters["weights/s"] = benchmark::Counter(static_cast<double>(values.size()),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

template <typename Fn>
void register_benchmark(const std::string& name, Fn run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMillisecond);
}

void add(const std::string& model, const Layer& layer, WeightType type, int64_t m) {
  register_benchmark(
      fmt::format("Linear/{}/{}/{}/m:{}", model, layer.name, name_of(type.format), m),
      [=](benchmark::State& state) { run(state, layer, type, m); });
}

void add_plain(const std::string& model, const Layer& layer) {
  for (WeightFormat format : {WeightFormat::kBF16, WeightFormat::kF32})
    for (int64_t m : {1, 512}) add(model, layer, format, m);
}

constexpr WeightFormat kCodes[] = {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4,
                                   WeightFormat::kNf4Double};

// Adds products of bf16 inputs with codes. They show how much of a step's time streaming codes
// saves, and from how many rows on expanding the codes is a small part of the product.
void add_codes() {
  const Layer& gate_up = kLlama2[2];
  add("llama-2-7b", gate_up, WeightFormat::kBF16, 128);
  for (WeightFormat format : kCodes)
    for (int64_t m : {1, 128, 512}) add("llama-2-7b", gate_up, {format, DType::kBF16}, m);
}

void add_stack(const Stack& stack, WeightFormat format, int64_t m) {
  register_benchmark(fmt::format("Linear/{}/{}/m:{}", stack.name, name_of(format), m),
                     [=](benchmark::State& state) { run_stack(state, stack, format, m); });
}

void add_quantize(WeightFormat format) {
  register_benchmark(fmt::format("Quantize/tinyllama-1.1b/gate_up/{}", name_of(format)),
                     [=](benchmark::State& state) { quantize(state, kTinyLlama[2], format); });
}

}  // namespace
}  // namespace reprise::kernels

int main(int argc, char** argv) {
  using reprise::WeightFormat;
  namespace kernels = reprise::kernels;
  for (const auto& layer : kernels::kTinyLlama) kernels::add_plain("tinyllama-1.1b", layer);
  for (const auto& layer : kernels::kLlama2) kernels::add_plain("llama-2-7b", layer);
  kernels::add_codes();
  for (const int64_t m : {1, 4, 8, 16, 32, 40, 64, 512})
    kernels::add_stack(kernels::kLayers, WeightFormat::kBF16, m);
  for (const WeightFormat format : kernels::kCodes)
    for (const int64_t m : {1, 4, 8, 16, 64}) kernels::add_stack(kernels::kLayers, format, m);
  for (const WeightFormat format : {WeightFormat::kBF16, WeightFormat::kInt8, WeightFormat::kNf4})
    for (const int64_t m : {1, 6, 48, 192}) kernels::add_stack(kernels::kExperts, format, m);
  for (const WeightFormat format : kernels::kCodes) kernels::add_quantize(format);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
