// Time of applying an attention map, compared with computing attention, at the lengths in table 3
// of AttnCache.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention_map/attention_map.h"
#include "tests/core/kernels/attention/attention_cases.h"

namespace reprise::kernels {
namespace {

// Heads and head size of a layer of Llama-3.2-3B and of Llama-2-7B.
struct Layer {
  int64_t heads, kv_heads, head_dim;
};
constexpr Layer kLayers[] = {{24, 8, 128}, {32, 32, 128}};

struct Problem {
  Layer layer;
  int64_t n;
  testing::RandomCache cache;
  kv::AttentionPlan plan;
  Tensor out;

  Problem(const benchmark::State& state, DType dtype)
      : layer(kLayers[state.range(0)]),
        n(state.range(1)),
        cache(dtype, 1, 1, layer.kv_heads, n, layer.head_dim, 1),
        plan(testing::causal_plan(cache, 0, static_cast<int32_t>(n))),
        out(DType::kBF16, {n, layer.heads * layer.head_dim}) {}

  OutputView view() { return {.data = out.data(), .dtype = DType::kBF16}; }
  // Sets the rates. The causal half of the map takes one product and one sum per weight and
  // dimension.
  void count(benchmark::State& state, double bytes) const {
    const auto rate = benchmark::Counter::kIsIterationInvariantRate;
    state.counters["FLOP/s"] =
        benchmark::Counter(static_cast<double>(layer.heads * layer.head_dim * n * (n + 1)), rate);
    state.counters["B/s"] = benchmark::Counter(bytes, rate);
  }
};

// A causal map of equal weights, whose value does not matter.
template <typename T>
std::vector<T> causal_map(int64_t heads, int64_t n, T weight) {
  std::vector<T> map(static_cast<size_t>(heads * n * n), T{});
  for (int64_t row = 0; row < heads * n; ++row)
    for (int64_t k = 0; k <= row % n; ++k) map[static_cast<size_t>(row * n + k)] = weight;
  return map;
}

void run_map(benchmark::State& state, DType cache_dtype, const MapView& map, Problem& problem) {
  const RowMap whole{.map = map};
  const Context context = Context::machine();
  for (auto _ : state)
    apply_map(problem.plan, 0, {&whole, 1}, problem.layer.heads, problem.view(), context);
  state.SetLabel(std::string(name_of(cache_dtype)));
}

void ApplyBf16(benchmark::State& state) {
  Problem problem(state, DType::kBF16);
  const auto map = causal_map(problem.layer.heads, problem.n, bf16(0.01f));
  run_map(state, DType::kBF16,
          contiguous_map(map.data(), DType::kBF16, problem.layer.heads, problem.n, problem.n),
          problem);
  problem.count(state, static_cast<double>(map.size() * 2));
}

void ApplyF32(benchmark::State& state) {
  Problem problem(state, DType::kF32);
  const auto map = causal_map(problem.layer.heads, problem.n, 0.01f);
  run_map(state, DType::kF32,
          contiguous_map(map.data(), DType::kF32, problem.layer.heads, problem.n, problem.n),
          problem);
  problem.count(state, static_cast<double>(map.size() * 4));
}

void ApplyBytes(benchmark::State& state) {
  Problem problem(state, DType::kBF16);
  const auto map = causal_map(problem.layer.heads, problem.n, uint8_t{17});
  const std::vector<float> scales(static_cast<size_t>(problem.layer.heads * problem.n), 0.01f);
  MapView view = contiguous_map(map.data(), DType::kF32, problem.layer.heads, problem.n, problem.n);
  view.row_scales = scales.data();
  view.scale_head_stride = problem.n;
  run_map(state, DType::kBF16, view, problem);
  problem.count(state, static_cast<double>(map.size()));
}

// Times the computation that a stored map replaces: scores, softmax and the product with the
// values.
void Compute(benchmark::State& state) {
  Problem problem(state, DType::kBF16);
  const int64_t row = problem.layer.heads * problem.layer.head_dim;
  const std::vector<float> q = testing::random_queries(problem.n * row, 1);
  AttentionWorkspace workspace;
  const AttentionParams params{.scale =
                                   1.0f / std::sqrt(static_cast<float>(problem.layer.head_dim))};
  const Context context = Context::machine();
  for (auto _ : state)
    attention(problem.plan, 0, {.data = q.data(), .row_stride = row, .heads = problem.layer.heads},
              params, problem.view(), workspace, context);
}

// Times computing the map itself, as is done when maps are collected or shared.
void ComputeMap(benchmark::State& state) {
  Problem problem(state, DType::kBF16);
  const int64_t row = problem.layer.heads * problem.layer.head_dim;
  const std::vector<float> q = testing::random_queries(problem.n * row, 1);
  std::vector<float> map(static_cast<size_t>(problem.layer.heads * problem.n * problem.n));
  const AttentionParams params{.scale =
                                   1.0f / std::sqrt(static_cast<float>(problem.layer.head_dim))};
  const Context context = Context::machine();
  for (auto _ : state)
    attention_map(problem.plan, 0,
                  {.data = q.data(), .row_stride = row, .heads = problem.layer.heads}, params,
                  nullptr, map.data(), context);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"layer", "n"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int64_t layer : {0, 1})
    for (const int64_t n : {94, 179, 285, 393, 490, 560}) bench->Args({layer, n});
}
BENCHMARK(ApplyBf16)->Apply(shapes);
BENCHMARK(ApplyBytes)->Apply(shapes);
BENCHMARK(ApplyF32)->Apply(shapes);
BENCHMARK(Compute)->Apply(shapes);
BENCHMARK(ComputeMap)->Apply(shapes);

}  // namespace
}  // namespace reprise::kernels

BENCHMARK_MAIN();
