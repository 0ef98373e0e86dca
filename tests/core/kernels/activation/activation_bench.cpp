#include "core/kernels/activation/activation.h"
#include "tests/core/kernels/shared/row_bench.h"

namespace reprise::kernels {
namespace {

using testing::filled;
using testing::kIntermediate;
using testing::machine;
using testing::run;

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

}  // namespace
}  // namespace reprise::kernels
