// A benchmark program whose names hold every character with a meaning in regular expressions. One
// name occurs twice.
#include <benchmark/benchmark.h>

namespace {

void Nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}

BENCHMARK(Nothing)->Name("paged{}/waiting:8");
BENCHMARK(Nothing)->Name("paged{}/waiting:8");
BENCHMARK(Nothing)->Name(R"(chunk{"shared": [8], "retain": true}/a.b*(c)+d?|^e$\f)");

}  // namespace

BENCHMARK_MAIN();
