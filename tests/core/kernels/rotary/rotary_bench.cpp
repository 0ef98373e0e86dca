#include <numeric>
#include <vector>

#include "core/kernels/rotary/rotary.h"
#include "tests/core/kernels/shared/row_bench.h"

namespace reprise::kernels {
namespace {

using testing::filled;
using testing::kHeadDim;
using testing::kHeads;
using testing::kHidden;
using testing::machine;
using testing::run;

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
  run(state, static_cast<double>(state.range(0) * kHeadDim) * 4, [&] {
    rotary_angles(positions, frequencies, 1.0f, cos.as<float>(), sin.as<float>(), machine());
  });
}
BENCHMARK(RotaryAngles)->ArgNames({"rows"})->Arg(1)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace reprise::kernels
