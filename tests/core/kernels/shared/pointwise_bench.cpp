// The benchmarks of row operations in one program, which baselines know by its name.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
