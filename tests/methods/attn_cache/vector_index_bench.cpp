// Times a lookup in 100,000 vectors of 128 dimensions, the size in AttnCache's section 5.4.
//   vector_index_bench --benchmark_filter=Lookup
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>

#include "core/base/random.h"
#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {
namespace {

constexpr int64_t kDims = 128, kVectors = 100'000, kQueries = 1000;

// Random vectors around some hundred centres. Like the prompts of a workload, they are neither all
// alike nor without neighbours.
std::vector<float> clustered(int64_t count, uint64_t seed) {
  std::vector<float> vectors(static_cast<size_t>(count * kDims));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t centre = random_bits(seed, 1, static_cast<uint64_t>(i)) % 300;
    for (int64_t c = 0; c < kDims; ++c) {
      const auto column = static_cast<uint64_t>(c);
      vectors[static_cast<size_t>(i * kDims + c)] =
          static_cast<float>(random_unit(7, centre, column) +
                             0.3 * random_unit(seed, 1000 + static_cast<uint64_t>(i), column));
    }
  }
  return vectors;
}

const VectorIndex& index_of(IndexKind kind) {
  static std::unique_ptr<VectorIndex> indices[3];
  std::unique_ptr<VectorIndex>& index = indices[static_cast<int>(kind)];
  if (index == nullptr) {
    std::vector<IndexEntry> entries(kVectors);
    index = std::make_unique<VectorIndex>(IndexOptions{.kind = kind}, kDims, clustered(kVectors, 1),
                                          std::move(entries));
  }
  return *index;
}

void set_recall(benchmark::State& state, const VectorIndex& index,
                const std::vector<float>& queries) {
  std::vector<Neighbour> got(kQueries), want(kQueries);
  index.search(queries, got, Context::machine());
  index_of(IndexKind::kFlat).search(queries, want, Context::machine());
  int64_t right = 0;
  for (size_t q = 0; q < kQueries; ++q) right += got[q].entry == want[q].entry ? 1 : 0;
  state.counters["found"] = static_cast<double>(right) / kQueries;  // share of nearest found
}

// Looks up one query at a time, a different one each time.
void Lookup(benchmark::State& state) {
  const auto kind = static_cast<IndexKind>(state.range(0));
  const VectorIndex& index = index_of(kind);
  const std::vector<float> queries = clustered(kQueries, 2);
  std::vector<Neighbour> nearest(1);
  size_t q = 0;
  for (auto _ : state) {
    index.search(std::span(queries).subspan(q * kDims, kDims), nearest, {});
    benchmark::DoNotOptimize(nearest[0].entry);
    q = (q + 1) % kQueries;
  }
  state.SetLabel(std::string(name_of(kind)));
  set_recall(state, index, queries);
}
BENCHMARK(Lookup)
    ->ArgName("kind")
    ->Arg(0)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// Looks up 1000 queries in one call, on all threads.
void BatchedLookup(benchmark::State& state) {
  const auto kind = static_cast<IndexKind>(state.range(0));
  const VectorIndex& index = index_of(kind);
  const std::vector<float> queries = clustered(kQueries, 2);
  std::vector<Neighbour> nearest(kQueries);
  const Context context = Context::machine();
  for (auto _ : state) index.search(queries, nearest, context);
  state.SetItemsProcessed(state.iterations() * kQueries);
  state.SetLabel(std::string(name_of(kind)));
}
BENCHMARK(BatchedLookup)
    ->ArgName("kind")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace reprise::attn_cache

BENCHMARK_MAIN();
