// Applies attention maps. Rows that read the same keys in the same order, each the first of them,
// as those of a prompt do, become a product of matrices; others sum up value by value.
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/attention_map.h"
#include "core/kernels/cpu/map_product.h"
#include "core/kernels/cpu/weighted_sum.h"
#include "core/kernels/row_keys.h"

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

// Weights [keys] of a row as f32: in place, or converted into `scratch`.
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
  std::vector<float> weights, sum;  // of the slow way
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

// Neighbouring rows of one map that share their items.
struct RowGroup {
  const RowMap* part = nullptr;
  int32_t first_row = 0, end_row = 0;
  int32_t longest_row = 0;  // that sees most keys
  bool is_product = false;
};

// Keys that a row sees where those are the first ones of its numbering, else -1.
int32_t seen_keys(const kv::AttentionPlan& plan, int64_t row) {
  int64_t seen = 0;
  bool has_gap = false;
  for_key_runs(plan, row, [&](const KeyRun& run) {
    has_gap |= run.first_key != seen;
    seen = run.first_key + run.tokens;
  });
  return has_gap ? -1 : static_cast<int32_t>(seen);
}

bool shares_items(const kv::AttentionPlan& plan, int32_t row, int32_t other) {
  const auto begin = [&](int32_t r) {
    return plan.row_items.begin() + plan.row_begin[static_cast<size_t>(r)];
  };
  return std::equal(begin(row), begin(row + 1), begin(other), begin(other + 1));
}

// A product packs its values first, which takes about as long as four rows by themselves.
constexpr int32_t kFewestRows = 8;

void finish(RowGroup& group, std::span<const int32_t> seen) {
  const auto first = seen.begin() + group.first_row, end = seen.begin() + group.end_row;
  group.longest_row = static_cast<int32_t>(std::max_element(first, end) - seen.begin());
  group.is_product = group.end_row - group.first_row >= kFewestRows &&
                     *std::min_element(first, end) >= 0 && *std::max_element(first, end) > 0;
}

std::vector<RowGroup> groups_of(const kv::AttentionPlan& plan, std::span<const RowMap> maps,
                                std::span<const int32_t> seen) {
  std::vector<RowGroup> groups;
  for (const RowMap& part : maps) {
    const auto end_row = static_cast<int32_t>(part.first_row + part.map.rows);
    for (int32_t row = part.first_row; row < end_row;) {
      RowGroup group{.part = &part, .first_row = row, .end_row = row + 1};
      while (group.end_row < end_row && shares_items(plan, row, group.end_row)) ++group.end_row;
      finish(group, seen);
      groups.push_back(group);
      row = group.end_row;
    }
  }
  return groups;
}

void check_keys(const RowGroup& group, int32_t seen) {
  if (seen > group.part->map.keys)
    raise_shape("an attention map has {} keys, row {} reads {}: it is of a shorter text",
                group.part->map.keys, group.longest_row, seen);
}

// Query heads [first, end) of one kv head.
struct Heads {
  int64_t kv_head, first, end;
};

void apply_product(const kv::AttentionPlan& plan, int64_t layer, const RowGroup& group,
                   const Heads& heads, std::span<const int32_t> seen, const OutputView& out,
                   Worker& worker, Isa isa) {
  const MapView& map = group.part->map;
  check_keys(group, seen[static_cast<size_t>(group.longest_row)]);
  worker.runs.clear();
  for_key_runs(plan, group.longest_row, [&](const KeyRun& run) { worker.runs.push_back(run); });
  worker.products.take_values(worker.runs, layer, heads.kv_head, map);
  const int64_t head_dim = plan.head_dim();
  const auto rows = static_cast<size_t>(group.end_row - group.first_row);
  for (int64_t head = heads.first; head < heads.end; ++head) {
    const int64_t to = (group.first_row * map.heads + head) * head_dim;
    worker.products.multiply(
        {.map = &map,
         .head = head,
         .first_row = group.first_row - group.part->first_row,
         .seen = seen.subspan(static_cast<size_t>(group.first_row), rows),
         .out = static_cast<char*>(out.data) + static_cast<size_t>(to) * size_of(out.dtype),
         .out_dtype = out.dtype,
         .out_stride = map.heads * head_dim},
        isa);
  }
}

}  // namespace

void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
               int64_t heads, const OutputView& out, const Context& context) {
  require_device(context.device, "an attention map");
  check(plan, maps, heads);
  if (plan.rows() == 0) return;
  std::vector<int32_t> seen;
  for (int64_t row = 0; row < plan.rows(); ++row) seen.push_back(seen_keys(plan, row));
  const std::vector<RowGroup> groups = groups_of(plan, maps, seen);
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, context.threads)));
  // Values are packed once for the query heads of a kv head, where that leaves work for everybody.
  const int64_t per_kv = heads / plan.kv_heads();
  const int64_t together = plan.kv_heads() >= 2 * context.threads ? per_kv : 1;
  for (const RowGroup& group : groups) {
    if (group.is_product) {
      parallel_for(context, heads / together, [&](int64_t item, int worker) {
        const int64_t first = item * together;
        apply_product(plan, layer, group,
                      {.kv_head = first / per_kv, .first = first, .end = first + together}, seen,
                      out, workers[static_cast<size_t>(worker)], context.isa);
      });
    } else {
      parallel_for(context, group.end_row - group.first_row, [&](int64_t row, int worker) {
        apply_to_row(plan, layer, *group.part, group.first_row + row, out,
                     workers[static_cast<size_t>(worker)], context.isa);
      });
    }
  }
}

}  // namespace reprise::kernels
