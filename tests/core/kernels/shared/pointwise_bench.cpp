// Time of the row operations at the widths of Llama-2-7B, for one decoded row and for a prefill
// chunk; bytes/s count what must be read and written once.
#include <benchmark/benchmark.h>

#include <numeric>

#include "core/device/buffer.h"
#include "core/kernels/activation/activation.h"
#include "core/kernels/kv_write/kv_write.h"
#include "core/kernels/norm/norm.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kv/block_pool.h"

namespace reprise::kernels {
namespace {

// Looked up once: it reads the environment, which would count in what takes a microsecond.
const Context& machine() {
  static const Context context = Context::machine();
  return context;
}

constexpr int64_t kHidden = 4096, kIntermediate = 11008, kHeads = 32, kHeadDim = 128;

template <typename Fn>
void run(benchmark::State& state, double bytes, Fn&& fn) {
  for (auto _ : state) fn();
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

AlignedBuffer filled(int64_t count) {
  AlignedBuffer buffer(static_cast<size_t>(count) * sizeof(float));
  for (float& value : buffer.span<float>()) value = 0.5f;
  return buffer;
}

// Args: rows, 0 RMSNorm or 1 LayerNorm.
void Norm(benchmark::State& state) {
  const int64_t rows = state.range(0);
  AlignedBuffer x = filled(rows * kHidden), weight = filled(kHidden), out = filled(rows * kHidden);
  const NormCall call{.is_rms = state.range(1) == 0,
                      .weight = weight.as<float>(),
                      .x = x.as<float>(),
                      .out = out.data(),
                      .out_dtype = DType::kBF16,
                      .rows = rows,
                      .cols = kHidden};
  run(state, static_cast<double>(rows * kHidden) * 6, [&] { call.run(machine()); });
}
BENCHMARK(Norm)->ArgNames({"rows", "layer"})->ArgsProduct({{1, 512}, {0, 1}})->UseRealTime();

// Args: rows, kind, gated.
void Activation(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const bool is_gated = state.range(2) != 0;
  AlignedBuffer x = filled(rows * 2 * kIntermediate), out = filled(rows * kIntermediate);
  const ActivationCall call{.kind = static_cast<ActivationKind>(state.range(1)),
                            .is_gated = is_gated,
                            .x = x.data(),
                            .out = out.data(),
                            .dtype = DType::kBF16,
                            .rows = rows,
                            .cols = kIntermediate};
  run(state, static_cast<double>(rows * kIntermediate) * (is_gated ? 6 : 4),
      [&] { call.run(machine()); });
}
BENCHMARK(Activation)
    ->ArgNames({"rows", "kind", "gated"})
    ->ArgsProduct({{1, 512}, {0, 1, 2}, {0, 1}})
    ->UseRealTime();

// Queries and keys of a fused qkv row, in place.
void Rotary(benchmark::State& state) {
  const int64_t rows = state.range(0), stride = 3 * kHidden;
  AlignedBuffer data = filled(rows * stride), cos = filled(rows * kHeadDim / 2),
                sin = filled(rows * kHeadDim / 2);
  const RotaryCall call{.data = data.as<float>(),
                        .rows = rows,
                        .row_stride = stride,
                        .heads = 2 * kHeads,
                        .head_dim = kHeadDim,
                        .half = kHeadDim / 2,
                        .cos = cos.as<float>(),
                        .sin = sin.as<float>()};
  run(state, static_cast<double>(rows * 2 * kHidden) * 8, [&] { call.run(machine()); });
}
BENCHMARK(Rotary)->ArgNames({"rows"})->Arg(1)->Arg(512)->UseRealTime();

void RotaryAngles(benchmark::State& state) {
  std::vector<int32_t> positions(static_cast<size_t>(state.range(0)));
  std::iota(positions.begin(), positions.end(), 1000);
  const std::vector<float> frequencies(kHeadDim / 2, 0.01f);
  AlignedBuffer cos = filled(state.range(0) * kHeadDim / 2),
                sin = filled(state.range(0) * kHeadDim / 2);
  run(state, static_cast<double>(state.range(0) * kHeadDim) * 4,
      [&] { rotary_angles(positions, frequencies, cos.as<float>(), sin.as<float>(), machine()); });
}
BENCHMARK(RotaryAngles)->ArgNames({"rows"})->Arg(1)->Arg(512)->UseRealTime();

// Args: rows, cache dtype.
void WriteKv(benchmark::State& state) {
  const int64_t rows = state.range(0), stride = 3 * kHidden;
  const auto dtype = static_cast<DType>(state.range(1));
  kv::BlockPool pool({.layers = 1,
                      .kv_heads = kHeads,
                      .head_dim = kHeadDim,
                      .dtype = dtype,
                      .block_tokens = static_cast<int32_t>(rows),
                      .num_blocks = 1});
  kv::AttentionPlan plan;
  plan.caches = {pool.view()};
  for (int32_t row = 0; row < rows; ++row) {
    plan.row_positions.push_back(row);
    plan.row_lengths.push_back(row + 1);
    plan.row_slots.push_back(pool.offset_of(0, row));
  }
  plan.finish();
  AlignedBuffer qkv = filled(rows * stride);
  const float* keys = qkv.as<float>() + kHidden;
  run(state, static_cast<double>(rows * 2 * kHidden) * static_cast<double>(4 + size_of(dtype)),
      [&] { write_kv(plan, 0, keys, keys + kHidden, stride, machine()); });
}
BENCHMARK(WriteKv)->ArgNames({"rows", "dtype"})->ArgsProduct({{1, 512}, {0, 1, 2}})->UseRealTime();

}  // namespace
}  // namespace reprise::kernels

BENCHMARK_MAIN();
