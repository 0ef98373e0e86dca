// Time of the attention kernels. Bytes and FLOPs are reported so that each row can be compared with
// the machine's limits.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/base/steady_now.h"
#include "core/device/memory.h"
#include "core/kernels/attention/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"

namespace reprise::kernels {
namespace {

void run(benchmark::State& state, const kv::AttentionPlan& plan, int64_t heads, double flops,
         double bytes, const Context& context = Context::machine()) {
  const int64_t row = heads * plan.head_dim();
  const std::vector<float> values = testing::random_queries(plan.rows() * row, 1);
  // Uses huge pages as the runtime does, because rows are far apart.
  Tensor q(DType::kF32, {plan.rows(), row}), out(DType::kBF16, {plan.rows(), row});
  std::copy(values.begin(), values.end(), q.as<float>());
  AttentionWorkspace workspace;
  const AttentionParams params{.scale = 1.0f / std::sqrt(static_cast<float>(plan.head_dim()))};
  for (auto _ : state)
    attention(plan, 0, {.data = q.as<float>(), .row_stride = row, .heads = heads}, params,
              {.data = out.data(), .dtype = DType::kBF16}, workspace, context);
  state.SetLabel(std::string(name_of(plan.caches[0].dtype)));  // selects the FLOP limit
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["FLOP/s"] = benchmark::Counter(flops, rate);
  state.counters["B/s"] = benchmark::Counter(bytes, rate);
}

// Args: dtype, heads, kv_heads, head_dim, tokens.
void CausalPrefill(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                n = state.range(4);
  const testing::RandomCache cache(dtype, 1, 1, kv_heads, n, dim, 1);
  const kv::AttentionPlan plan = testing::causal_plan(cache, 0, static_cast<int32_t>(n));
  // Only the causal half counts: n (n + 1) / 2 visible pairs of 4 d FLOPs each.
  run(state, plan, heads,
      2.0 * static_cast<double>(heads * dim) * static_cast<double>(n) * static_cast<double>(n + 1),
      2.0 * static_cast<double>(n * kv_heads * dim) * static_cast<double>(size_of(dtype)));
}
BENCHMARK(CausalPrefill)
    ->ArgNames({"dtype", "h", "kv", "d", "n"})
    ->Args({1, 32, 32, 128, 2048})
    ->Args({1, 32, 4, 64, 512})
    ->Args({1, 32, 4, 64, 4096})
    ->Args({0, 32, 32, 128, 2048})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// One new token of `batch` sequences, each with its own cache.
void PrivateDecode(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                n = state.range(4);
  const auto batch = static_cast<int32_t>(state.range(5));
  const testing::RandomCache cache(dtype, batch, 1, kv_heads, n, dim, 1);
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t row = 0; row < batch; ++row) {
    testing::add_row(plan, static_cast<int32_t>(n));
    const int32_t id =
        testing::add_segment(plan, cache, static_cast<int32_t>(n), 0, [&] { return row; });
    plan.items.push_back({.segment = id, .first_row = row, .end_row = row + 1});
  }
  plan.finish();
  run(state, plan, heads, 4.0 * static_cast<double>(batch * heads * dim * n),
      2.0 * static_cast<double>(batch * n * kv_heads * dim) * static_cast<double>(size_of(dtype)));
}
BENCHMARK(PrivateDecode)
    ->ArgNames({"dtype", "h", "kv", "d", "n", "b"})
    ->Args({1, 32, 32, 128, 4096, 8})
    ->Args({1, 32, 32, 128, 64, 1})
    ->Args({1, 32, 32, 128, 512, 1})
    ->Args({1, 32, 4, 64, 4096, 32})
    ->Args({0, 32, 32, 128, 4096, 8})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// One new token of `batch` sequences that all read one shared segment.
void SharedDecode(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                n = state.range(4);
  const auto batch = static_cast<int32_t>(state.range(5));
  const testing::RandomCache cache(dtype, 1, 1, kv_heads, n, dim, 1);
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  for (int32_t row = 0; row < batch; ++row) testing::add_row(plan, static_cast<int32_t>(n));
  const int32_t id =
      testing::add_segment(plan, cache, static_cast<int32_t>(n), 0, [] { return 0; });
  plan.items.push_back({.segment = id, .first_row = 0, .end_row = batch});
  plan.finish();
  run(state, plan, heads, 4.0 * static_cast<double>(batch * heads * dim * n),
      2.0 * static_cast<double>(n * kv_heads * dim) * static_cast<double>(size_of(dtype)));
}
BENCHMARK(SharedDecode)
    ->ArgNames({"dtype", "h", "kv", "d", "n", "b"})
    ->Args({1, 32, 32, 128, 4096, 32})
    ->Args({1, 32, 4, 64, 4096, 40})  // new tokens of Prompt Cache that read TinyLlama's modules
    ->Args({0, 32, 32, 128, 4096, 32})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// One new token of each of `batch` sequences in a paged cache whose blocks are in random order. All
// of them read a prefix of n tokens at once, and each reads n / 8 tokens of its own.
void PrefixDecode(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                n = state.range(4), block_tokens = state.range(6);
  const auto batch = static_cast<int32_t>(state.range(5));
  Context context = Context::machine();
  context.threads = static_cast<int>(state.range(7));
  const int64_t own = n / 8, tokens = n + batch * own;
  const int64_t blocks = tokens / block_tokens;
  const testing::RandomCache cache(dtype, blocks, 1, kv_heads, block_tokens, dim, 1);
  std::vector<int64_t> order(static_cast<size_t>(blocks));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  auto next = order.begin();
  const kv::AttentionPlan plan = testing::prefix_plan(
      cache, static_cast<int32_t>(n), static_cast<int32_t>(own), batch, [&] { return *next++; });
  run(state, plan, heads, 4.0 * static_cast<double>(batch * heads * dim * (n + own)),
      2.0 * static_cast<double>(tokens * kv_heads * dim) * static_cast<double>(size_of(dtype)),
      context);
}
BENCHMARK(PrefixDecode)
    ->ArgNames({"dtype", "h", "kv", "d", "n", "b", "block", "t"})
    ->Args({1, 32, 32, 128, 2048, 4, 16, 1})
    ->Args({1, 32, 32, 128, 2048, 8, 32, 1})
    ->Args({1, 32, 32, 64, 2048, 4, 32, 1})
    ->Args({1, 32, 32, 128, 2048, 5, 16, 1})
    ->Args({1, 32, 32, 128, 2048, 8, 16, 1})
    ->Args({1, 32, 32, 128, 2048, 8, 16, 2})
    ->Args({1, 32, 32, 64, 2048, 6, 16, 1})
    ->Args({1, 32, 32, 64, 2048, 8, 32, 2})
    ->Args({0, 32, 32, 128, 2048, 8, 16, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Decode steps of `batch` sequences in a pool of many layers. All sequences read n tokens at once,
// and each reads `own` tokens. Each iteration runs the attention of all layers in two pools: one is
// [layers, blocks, ...] and gives the row's time, the other is [blocks, layers, ...]. "ratio" is
// the median of the second pool's time divided by the first's.
void PoolDecode(benchmark::State& state) try {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                layers = state.range(4);
  const auto n = static_cast<int32_t>(state.range(5)), own = static_cast<int32_t>(state.range(6)),
             batch = static_cast<int32_t>(state.range(7));
  const bool is_shuffled = state.range(8) != 0;
  constexpr int64_t kBlockTokens = 16;
  testing::RandomCache cache(dtype, (n + batch * own) / kBlockTokens, layers, kv_heads,
                             kBlockTokens, dim, 1);
  std::vector<int64_t> order(static_cast<size_t>(cache.blocks));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (is_shuffled) std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const auto plan_of = [&] {
    auto next = order.begin();
    return testing::prefix_plan(cache, n, own, batch, [&] { return *next++; });
  };
  const kv::AttentionPlan blocks_first = plan_of();
  cache.put_layers_first();
  const kv::AttentionPlan layers_first = plan_of();
  const int64_t row = heads * dim;
  const std::vector<float> q = testing::random_queries(batch * row, 1);
  std::vector<float> out(q.size());
  AttentionWorkspace workspace;
  const Context context = Context::machine();
  const auto step_s = [&](const kv::AttentionPlan& plan) {
    const int64_t begin_ns = steady_now_ns();
    for (int64_t layer = 0; layer < layers; ++layer)
      attention(plan, layer, {.data = q.data(), .row_stride = row, .heads = heads}, {.scale = 0.1f},
                {.data = out.data()}, workspace, context);
    return seconds_since(begin_ns);
  };
  step_s(layers_first);  // warm-up
  std::vector<double> ratios;
  for (auto _ : state) {
    const double blocks_first_s = step_s(blocks_first), layers_first_s = step_s(layers_first);
    state.SetIterationTime(layers_first_s);
    ratios.push_back(blocks_first_s / layers_first_s);
  }
  std::sort(ratios.begin(), ratios.end());
  state.counters["ratio, quartile 1"] = ratios[ratios.size() / 4];
  state.counters["ratio"] = ratios[ratios.size() / 2];
  state.counters["ratio, quartile 3"] = ratios[ratios.size() * 3 / 4];
  state.SetLabel(std::string(name_of(dtype)));
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["FLOP/s"] =
      benchmark::Counter(4.0 * static_cast<double>(layers * batch * row * (n + own)), rate);
  state.counters["B/s"] = benchmark::Counter(
      2.0 * static_cast<double>(cache.keys.elements()) * static_cast<double>(size_of(dtype)), rate);
} catch (const MemoryError& error) {  // the pools take up to 5.4 GB
  state.SkipWithError(error.what());
}
BENCHMARK(PoolDecode)
    ->ArgNames({"dtype", "h", "kv", "d", "layers", "n", "own", "b", "shuffled"})
    ->Args({1, 32, 32, 128, 32, 8192, 16, 1, 1})
    ->Args({1, 32, 8, 128, 32, 32768, 16, 1, 1})
    ->Args({1, 32, 8, 128, 32, 32768, 16, 1, 0})
    ->Args({0, 32, 8, 128, 32, 16384, 16, 1, 1})
    ->Args({1, 32, 32, 128, 32, 2048, 256, 32, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

// Few heads and rows over a long shared segment, or one long sequence: unless the keys are split,
// there are fewer tasks than threads.
void FewHeads(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t heads = state.range(1), kv_heads = state.range(2), dim = state.range(3),
                n = state.range(4);
  const auto rows = static_cast<int32_t>(state.range(5));
  Context context = Context::machine();
  context.threads = static_cast<int>(state.range(6));
  const testing::RandomCache cache(dtype, 1, 1, kv_heads, n, dim, 1);
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (int32_t row = 0; row < rows; ++row) testing::add_row(plan, static_cast<int32_t>(n));
  const int32_t id =
      testing::add_segment(plan, cache, static_cast<int32_t>(n), 0, [] { return 0; });
  plan.items.push_back({.segment = id, .first_row = 0, .end_row = rows});
  plan.finish();
  run(state, plan, heads, 4.0 * static_cast<double>(rows * heads * dim * n),
      2.0 * static_cast<double>(n * kv_heads * dim) * static_cast<double>(size_of(dtype)), context);
}
BENCHMARK(FewHeads)
    ->ArgNames({"dtype", "h", "kv", "d", "n", "rows", "t"})
    ->Args({0, 1, 1, 128, 8192, 8, 1})
    ->Args({0, 1, 1, 128, 8192, 8, 2})
    ->Args({1, 1, 1, 128, 8192, 8, 1})
    ->Args({1, 1, 1, 128, 8192, 8, 2})
    ->Args({1, 8, 1, 64, 8192, 64, 1})
    ->Args({1, 8, 1, 64, 8192, 64, 2})
    ->Args({1, 32, 4, 64, 4096, 1, 2})
    ->Args({1, 32, 4, 64, 4096, 32, 2})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// Times the schedule, which a step builds once for all its layers: `batch` sequences of `rows` rows
// each share a segment.
void BuildSchedule(benchmark::State& state) {
  const int64_t heads = state.range(0), kv_heads = state.range(1);
  const auto batch = static_cast<int32_t>(state.range(2)),
             rows = static_cast<int32_t>(state.range(3));
  const testing::RandomCache cache(DType::kBF16, 1, 1, kv_heads, 2048, 8, 1);
  kv::AttentionPlan plan;
  plan.begin(cache.view);
  for (int32_t row = 0; row < batch * rows; ++row) testing::add_row(plan, 4096);
  const auto add = [&](int32_t first_row, int32_t end_row) {
    const int32_t id = testing::add_segment(plan, cache, 2048, 0, [] { return 0; });
    plan.add_item({.segment = id, .first_row = first_row, .end_row = end_row});
  };
  add(0, batch * rows);
  for (int32_t i = 0; i < batch; ++i) add(i * rows, (i + 1) * rows);
  plan.finish();
  AttentionSchedule schedule;
  const Context context = Context::machine();
  for (auto _ : state) schedule.build(plan, heads, {}, context);
  state.counters["tasks"] = static_cast<double>(schedule.tasks.size());
}
BENCHMARK(BuildSchedule)
    ->ArgNames({"h", "kv", "b", "rows"})
    ->Args({32, 32, 1, 1})
    ->Args({32, 32, 32, 1})
    ->Args({32, 4, 32, 1})
    ->Args({32, 32, 8, 512})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reprise::kernels

BENCHMARK_MAIN();
