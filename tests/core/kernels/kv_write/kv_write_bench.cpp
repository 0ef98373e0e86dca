#include "core/kernels/kv_write/kv_write.h"
#include "core/kv/block_pool.h"
#include "tests/core/kernels/shared/row_bench.h"

namespace reprise::kernels {
namespace {

using testing::filled;
using testing::kHeadDim;
using testing::kHeads;
using testing::kHidden;
using testing::machine;
using testing::run;

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
