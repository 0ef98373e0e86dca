#include "core/kernels/norm/norm.h"
#include "tests/core/kernels/shared/row_bench.h"

namespace reprise::kernels {
namespace {

using testing::filled;
using testing::kHidden;
using testing::machine;
using testing::run;

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

}  // namespace
}  // namespace reprise::kernels
