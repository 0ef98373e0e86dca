#include "core/kernels/sparse_map.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/weighted_sum.h"
#include "core/kernels/row_keys.h"

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
}

// The entries of one (head, row) as f32, without those of weight 0.
struct Entries {
  std::vector<int64_t> keys;
  std::vector<float> weights;

  void read(const SparseMapView& map, int64_t head, int64_t row) {
    keys.clear();
    weights.clear();
    const int64_t first = head * map.head_stride + row * map.entries;
    for (int64_t i = first; i < first + map.entries; ++i)
      if (const float weight = map.weights[i]; weight != 0.0f) {
        keys.push_back(map.keys[i]);
        weights.push_back(weight);
      }
  }
};

struct Worker {
  Entries entries;
  std::vector<KeyRun> runs;  // of the row, for all heads
  std::vector<float> sum;    // [head_dim]
};

// Adds the entries of one run, from `next` on; neighbouring keys go together. Returns the first
// entry that is not the run's.
size_t add_run(const KeyRun& run, int64_t element, const Entries& entries, size_t next,
               std::span<float> sum, Isa isa) {
  const auto head_dim = static_cast<int64_t>(sum.size());
  const size_t count = entries.keys.size();
  while (next < count && entries.keys[next] < run.first_key) ++next;  // a key that is not seen
  while (next < count && entries.keys[next] < run.first_key + run.tokens) {
    size_t end = next + 1;
    while (end < count && entries.keys[end] == entries.keys[end - 1] + 1 &&
           entries.keys[end] < run.first_key + run.tokens)
      ++end;
    const int64_t at = element + (entries.keys[next] - run.first_key) * head_dim;
    cpu::add_weighted({.weights = entries.weights.data() + next,
                       .values = static_cast<const char*>(run.cache->values) +
                                 static_cast<size_t>(at) * size_of(run.cache->dtype),
                       .dtype = run.cache->dtype,
                       .tokens = static_cast<int64_t>(end - next),
                       .head_dim = head_dim,
                       .sum = sum.data()},
                      isa);
    next = end;
  }
  return next;
}

void apply_to_row(const kv::AttentionPlan& plan, int64_t layer, const SparseRowMap& part,
                  int64_t row, const OutputView& out, Worker& worker, Isa isa) {
  const SparseMapView& map = part.map;
  const int64_t head_dim = plan.head_dim(), group = map.heads / plan.kv_heads();
  worker.runs.clear();
  for_key_runs(plan, row, [&](const KeyRun& run) { worker.runs.push_back(run); });
  for (int64_t head = 0; head < map.heads; ++head) {
    worker.entries.read(map, head, row - part.first_row);
    worker.sum.assign(static_cast<size_t>(head_dim), 0.0f);
    size_t next = 0;
    for (const KeyRun& run : worker.runs)
      next = add_run(
          run, run.offset + layer * run.cache->layer_stride + head / group * run.cache->head_stride,
          worker.entries, next, worker.sum, isa);
    const int64_t to = (row * map.heads + head) * head_dim;
    convert(worker.sum.data(), DType::kF32,
            static_cast<char*>(out.data) + static_cast<size_t>(to) * size_of(out.dtype), out.dtype,
            static_cast<size_t>(head_dim));
  }
}

}  // namespace

void apply_sparse_map(const kv::AttentionPlan& plan, int64_t layer,
                      std::span<const SparseRowMap> maps, int64_t heads, const OutputView& out,
                      const Context& context) {
  require_device(context.device, "a sparse attention map");
  check(plan, maps, heads);
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, context.threads)));
  for (const SparseRowMap& part : maps)
    parallel_for(context, part.map.rows, [&](int64_t row, int worker) {
      apply_to_row(plan, layer, part, part.first_row + row, out,
                   workers[static_cast<size_t>(worker)], context.isa);
    });
}

}  // namespace reprise::kernels
