// Applies attention maps. Rows that each see a prefix of the same keys, such as the rows of a
// prompt, are computed as a matrix product; for other rows, values are added one by one.
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/attention_map/cpu/map_product.h"
#include "core/kernels/attention_map/row_groups.h"
#include "core/kernels/attention_map/row_keys.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/cpu/weighted_sum.h"

namespace reprise::kernels {
namespace {

void check(const kv::AttentionPlan& plan, std::span<const RowMap> maps, int64_t heads) {
  int64_t next_row = 0;
  for (const RowMap& part : maps) {
    REPRISE_CHECK(part.first_row == next_row, "a map begins at row {}, row {} is next",
                  part.first_row, next_row);
    next_row += part.map.rows;
    if (part.map.heads != heads)
      raise_shape("an attention map has {} heads, the layer has {}: it is of another model",
                  part.map.heads, heads);
    if (part.map.row_scales == nullptr && part.map.dtype == DType::kF16)
      raise("attention maps cannot be f16: store f32 or bf16");
  }
  REPRISE_CHECK(next_row == plan.rows(), "maps for {} rows of {}", next_row, plan.rows());
}

// Returns the weights [keys] of a row as f32: a pointer into the map, or to a converted copy in
// `scratch`.
const float* weights_of(const MapView& map, int64_t head, int64_t row,
                        std::vector<float>& scratch) {
  const int64_t at = head * map.head_stride + row * map.row_stride;
  if (map.row_scales != nullptr) {
    scratch.resize(static_cast<size_t>(map.keys));
    const auto* bytes = static_cast<const uint8_t*>(map.data) + at;
    const float scale = map.row_scales[head * map.scale_head_stride + row];
    for (size_t k = 0; k < scratch.size(); ++k) scratch[k] = scale * static_cast<float>(bytes[k]);
    return scratch.data();
  }
  if (map.dtype == DType::kF32) return static_cast<const float*>(map.data) + at;
  scratch.resize(static_cast<size_t>(map.keys));
  convert(static_cast<const bf16*>(map.data) + at, DType::kBF16, scratch.data(), DType::kF32,
          scratch.size());
  return scratch.data();
}

struct Worker {
  std::vector<float> weights, sum;  // for rows that are summed one by one
  std::vector<KeyRun> runs;
  cpu::MapProducts products;
};

void apply_to_row(const kv::AttentionPlan& plan, int64_t layer, const RowMap& part, int64_t row,
                  const OutputView& out, Worker& worker, Isa isa) {
  const MapView& map = part.map;
  const int64_t head_dim = plan.head_dim(), group = map.heads / plan.kv_heads();
  for (int64_t head = 0; head < map.heads; ++head) {
    const float* weights = weights_of(map, head, row - part.first_row, worker.weights);
    worker.sum.assign(static_cast<size_t>(head_dim), 0.0f);
    for_key_runs(plan, row, [&](const KeyRun& run) {
      if (run.first_key + run.tokens > map.keys)
        raise_shape("an attention map has {} keys, row {} reads {}: it is of a shorter text",
                    map.keys, row, run.first_key + run.tokens);
      const int64_t element =
          run.offset + layer * run.cache->layer_stride + head / group * run.cache->head_stride;
      cpu::add_weighted({.weights = weights + run.first_key,
                         .values = static_cast<const char*>(run.cache->values) +
                                   static_cast<size_t>(element) * size_of(run.cache->dtype),
                         .dtype = run.cache->dtype,
                         .tokens = run.tokens,
                         .head_dim = head_dim,
                         .sum = worker.sum.data()},
                        isa);
    });
    const int64_t to = (row * map.heads + head) * head_dim;
    convert(worker.sum.data(), DType::kF32,
            static_cast<char*>(out.data) + static_cast<size_t>(to) * size_of(out.dtype), out.dtype,
            static_cast<size_t>(head_dim));
  }
}

void check_keys(const MapView& map, const RowGroup& group, std::span<const int32_t> seen) {
  const int32_t most = seen[static_cast<size_t>(group.longest_row)];
  if (most > map.keys)
    raise_shape("an attention map has {} keys, row {} reads {}: it is of a shorter text", map.keys,
                group.longest_row, most);
}

// Query heads [first, end) that share a kv head.
struct Heads {
  int64_t kv_head, first, end;
};

void apply_product(const kv::AttentionPlan& plan, int64_t layer, const RowMap& part,
                   const RowGroup& group, const Heads& heads, std::span<const int32_t> seen,
                   const OutputView& out, Worker& worker, Isa isa) {
  const MapView& map = part.map;
  worker.runs.clear();
  for_key_runs(plan, group.longest_row, [&](const KeyRun& run) { worker.runs.push_back(run); });
  worker.products.take_values(worker.runs, layer, heads.kv_head, map);
  const int64_t head_dim = plan.head_dim();
  for (int64_t head = heads.first; head < heads.end; ++head) {
    const int64_t to = (group.first_row * map.heads + head) * head_dim;
    worker.products.multiply(
        {.map = &map,
         .head = head,
         .first_row = group.first_row - part.first_row,
         .seen =
             seen.subspan(static_cast<size_t>(group.first_row), static_cast<size_t>(group.rows())),
         .out = static_cast<char*>(out.data) + static_cast<size_t>(to) * size_of(out.dtype),
         .out_dtype = out.dtype,
         .out_stride = map.heads * head_dim},
        isa);
  }
}

// Applies the map to a group's rows by matrix products. Packs values once for all query heads of a
// kv head if this leaves work for every thread.
void apply_products(const kv::AttentionPlan& plan, int64_t layer, const RowMap& part,
                    const RowGroup& group, std::span<const int32_t> seen, const OutputView& out,
                    std::span<Worker> workers, const Context& context) {
  check_keys(part.map, group, seen);
  const int64_t per_kv = part.map.heads / plan.kv_heads();
  const int64_t together = plan.kv_heads() >= 2 * context.threads ? per_kv : 1;
  parallel_for(context, part.map.heads / together, [&](int64_t item, int worker) {
    const int64_t first = item * together;
    apply_product(plan, layer, part, group,
                  {.kv_head = first / per_kv, .first = first, .end = first + together}, seen, out,
                  workers[static_cast<size_t>(worker)], context.isa);
  });
}

}  // namespace

void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
               int64_t heads, const OutputView& out, const Context& context) {
  DeviceKernels* device = device_kernels(context, "an attention map");
  check(plan, maps, heads);
  if (plan.rows() == 0) return;
  if (device != nullptr) return device->apply_map(plan, layer, maps, heads, out);
  const std::vector<int32_t> seen = seen_keys(plan);
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, context.threads)));
  std::vector<RowGroup> groups;
  for (const RowMap& part : maps) {
    groups.clear();
    append_groups(plan, seen, part.first_row, static_cast<int32_t>(part.first_row + part.map.rows),
                  groups);
    for (const RowGroup& group : groups) {
      if (group.is_product())
        apply_products(plan, layer, part, group, seen, out, workers, context);
      else
        parallel_for(context, group.rows(), [&](int64_t row, int worker) {
          apply_to_row(plan, layer, part, group.first_row + row, out,
                       workers[static_cast<size_t>(worker)], context.isa);
        });
    }
  }
}

}  // namespace reprise::kernels
