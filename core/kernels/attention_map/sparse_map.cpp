#include "core/kernels/attention_map/sparse_map.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/attention_map/row_keys.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/cpu/weighted_sum.h"

namespace reprise::kernels {
namespace {

void check(const kv::AttentionPlan& plan, std::span<const SparseRowMap> maps, int64_t heads) {
  int64_t next_row = 0;
  for (const SparseRowMap& part : maps) {
    REPRISE_CHECK(part.first_row == next_row, "a map begins at row {}, row {} is next",
                  part.first_row, next_row);
    next_row += part.map.rows;
    if (part.map.heads != heads)
      raise_shape("a sparse attention map has {} heads, the layer has {}: it is of another model",
                  part.map.heads, heads);
  }
  REPRISE_CHECK(next_row == plan.rows(), "maps for {} rows of {}", next_row, plan.rows());
  for (const kv::CacheView& cache : plan.caches)
    if (cache.dtype != plan.caches[0].dtype)
      raise("sparse attention maps are applied to values of one dtype, not of {} and {}",
            name_of(plan.caches[0].dtype), name_of(cache.dtype));
}

// Rows of one head that a worker computes together; their values stay in L2.
constexpr int64_t kRowsTogether = 32;

// Reused memory of one worker.
struct Worker {
  std::vector<KeyRun> runs;  // of the current row
  // The current (head, row): weights of the entries that count, and pointers to their values.
  // [entries]
  std::vector<float> weights;
  std::vector<const void*> values;
  std::vector<float> sum;  // [head_dim]
};

// Finds the values of the entries. Keys and runs both ascend, so one pass suffices; keys outside
// the runs are not seen. Returns how many entries count.
int64_t find_values(const SparseMapView& map, int64_t head, int64_t row, int64_t layer,
                    int64_t kv_head, Worker& worker) {
  int64_t found = 0;
  auto run = worker.runs.begin();
  const int64_t first = head * map.head_stride + row * map.entries;
  for (int64_t i = first; i < first + map.entries; ++i) {
    const float weight = map.weights[i];
    if (weight == 0.0f) continue;
    const int64_t key = map.keys[i];
    while (run != worker.runs.end() && key >= run->first_key + run->tokens) ++run;
    if (run == worker.runs.end()) break;
    if (key < run->first_key) continue;
    const kv::CacheView& cache = *run->cache;
    const int64_t element = run->offset + layer * cache.layer_stride + kv_head * cache.head_stride +
                            (key - run->first_key) * cache.head_dim;
    worker.weights[static_cast<size_t>(found)] = weight;
    worker.values[static_cast<size_t>(found++)] =
        static_cast<const char*>(cache.values) +
        static_cast<size_t>(element) * size_of(cache.dtype);
  }
  return found;
}

void apply_to_row(const kv::AttentionPlan& plan, int64_t layer, const SparseRowMap& part,
                  int64_t head, int64_t row, const OutputView& out, Worker& worker, Isa isa) {
  const SparseMapView& map = part.map;
  const int64_t head_dim = plan.head_dim(), group = map.heads / plan.kv_heads();
  worker.runs.clear();
  for_key_runs(plan, row, [&](const KeyRun& run) { worker.runs.push_back(run); });
  const int64_t found = find_values(map, head, row - part.first_row, layer, head / group, worker);
  cpu::gather_weighted({.weights = worker.weights.data(),
                        .values = worker.values.data(),
                        .dtype = plan.caches[0].dtype,
                        .count = found,
                        .head_dim = head_dim,
                        .sum = worker.sum.data()},
                       isa);
  const int64_t to = (row * map.heads + head) * head_dim;
  convert(worker.sum.data(), DType::kF32,
          static_cast<char*>(out.data) + static_cast<size_t>(to) * size_of(out.dtype), out.dtype,
          static_cast<size_t>(head_dim));
}

}  // namespace

void apply_sparse_map(const kv::AttentionPlan& plan, int64_t layer,
                      std::span<const SparseRowMap> maps, int64_t heads, const OutputView& out,
                      const Context& context) {
  DeviceKernels* device = device_kernels(context, "a sparse attention map");
  check(plan, maps, heads);
  if (device != nullptr) return device->apply_sparse_map(plan, layer, maps, heads, out);
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, context.threads)));
  for (const SparseRowMap& part : maps) {
    const int64_t chunks = (part.map.rows + kRowsTogether - 1) / kRowsTogether;
    parallel_for(context, heads * chunks, [&](int64_t item, int number) {
      Worker& worker = workers[static_cast<size_t>(number)];
      worker.weights.resize(static_cast<size_t>(part.map.entries));
      worker.values.resize(static_cast<size_t>(part.map.entries));
      worker.sum.resize(static_cast<size_t>(plan.head_dim()));
      const int64_t first = item % chunks * kRowsTogether;
      for (int64_t row = first; row < std::min(part.map.rows, first + kRowsTogether); ++row)
        apply_to_row(plan, layer, part, item / chunks, part.first_row + row, out, worker,
                     context.isa);
    });
  }
}

}  // namespace reprise::kernels
