// Links the benchmarks of row operations into one program. Baselines contain its name.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
