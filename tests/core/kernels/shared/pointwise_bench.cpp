// Links the benchmarks of row operations into one program, whose name baselines contain.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
