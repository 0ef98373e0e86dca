#include "core/kernels/attention.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/attention_task.h"

namespace reprise::kernels {
namespace {

constexpr float kLog2E = 1.44269504088896f;

// How the lanes of a plan's items are cut into tasks.
struct Split {
  int64_t units;  // heads that are computed apart: kv heads, or query heads where each has its own
                  // ALiBi slope
  int64_t group;  // query heads per unit
};

Split split_heads(const kv::AttentionPlan& plan, const QueryView& q,
                  const AttentionParams& params) {
  const int64_t kv_heads = plan.kv_heads();
  if (kv_heads <= 0 || q.heads % kv_heads != 0)
    raise_shape("{} query heads cannot share {} kv heads evenly", q.heads, kv_heads);
  if (plan.head_dim() > cpu::kMaxHeadDim)
    raise_shape("head_dim {} is larger than the {} the attention kernels allow", plan.head_dim(),
                cpu::kMaxHeadDim);
  if (!params.alibi.slopes.empty()) return {q.heads, 1};
  return {kv_heads, q.heads / kv_heads};
}

// Lanes of a task: as many as share converted keys and values, unless that would leave threads
// without work. Results do not depend on it.
int64_t lanes_per_task(const kv::AttentionPlan& plan, const Split& split, int threads) {
  int64_t lanes = 0;
  for (const kv::WorkItem& item : plan.items)
    lanes += (item.end_row - item.first_row) * split.group;
  constexpr int64_t kTasksPerThread = 8;
  int64_t tiles = cpu::kTaskTiles;
  while (tiles > 1 && lanes * split.units < kTasksPerThread * threads * tiles * cpu::kLaneTile)
    tiles /= 2;
  return tiles * cpu::kLaneTile;
}

// Units (kv heads) of an item that one task takes in turn, where its blocks are short and its lanes
// few: longer runs of memory, as long as every thread has work. `total_tokens` are those of all
// items. Results do not depend on it.
int64_t units_per_task(const kv::AttentionPlan& plan, const kv::WorkItem& item, const Split& split,
                       int64_t total_tokens, int threads) {
  const kv::Segment& segment = plan.segment_of(item);
  const int64_t lanes = (item.end_row - item.first_row) * split.group;
  // With ALiBi, query heads that share a kv head are units that do not follow one another.
  if (lanes > cpu::kFewLanes || split.units != plan.kv_heads() ||
      segment.block_tokens > cpu::kKeyTile || segment.tokens == 0 ||
      segment.skipped + segment.tokens <= segment.block_tokens)
    return 1;
  // A task of this many units is at most 1 / (threads * parts) of all work.
  const auto fitting = [&](int64_t parts) {
    return total_tokens * split.units / (segment.tokens * threads * parts);
  };
  int64_t units = std::min(split.units, cpu::kTaskLanes / lanes);
  const int64_t most = fitting(2) > 1 ? fitting(2) : fitting(1);
  while (units > 1 && units > most) units /= 2;
  return units;
}

int64_t tiles_of(const kv::WorkItem& item, int64_t group, int64_t task_lanes) {
  const int64_t lanes = (item.end_row - item.first_row) * group;
  return (lanes + task_lanes - 1) / task_lanes;
}

// Everything of a task that does not depend on the head or the tile.
cpu::AttentionTask task_of_item(const kv::AttentionPlan& plan, const kv::WorkItem& item,
                                const QueryView& q, const AttentionParams& params) {
  const kv::Segment& segment = plan.segment_of(item);
  cpu::AttentionTask task;
  task.q = q.data + item.first_row * q.row_stride;
  task.q_row_stride = q.row_stride;
  task.head_dim = static_cast<int>(plan.head_dim());
  task.kv_dtype = plan.cache_of(segment).dtype;
  task.block_offsets = plan.block_offsets.data() + segment.first_block;
  task.block_tokens = segment.block_tokens;
  task.skipped = segment.skipped;
  task.tokens = segment.tokens;
  task.is_causal = item.mask == kv::Mask::kCausal;
  task.visible = item.visible;
  task.window = params.window;
  task.first_position = segment.first_position;
  task.row_positions = plan.row_positions.data() + item.first_row;
  task.scale_log2 = params.scale * kLog2E;
  task.has_alibi = !params.alibi.slopes.empty();
  task.alibi_rounded = params.alibi.rounded_to_bf16;
  task.heads = static_cast<int>(q.heads);
  return task;
}

// Whether every row of the item is covered by this item alone.
bool is_alone(const kv::AttentionPlan& plan, const kv::WorkItem& item) {
  for (int32_t row = item.first_row; row < item.end_row; ++row)
    if (plan.row_begin[static_cast<size_t>(row) + 1] - plan.row_begin[static_cast<size_t>(row)] !=
        1)
      return false;
  return true;
}

// workspace.alone says which items finish their rows in `out`; the others leave partials.
void run_items(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
               const AttentionParams& params, const OutputView* out, AttentionWorkspace& workspace,
               const Context& context) {
  const Split split = split_heads(plan, q, params);
  const int64_t head_dim = plan.head_dim();
  const int64_t task_lanes = lanes_per_task(plan, split, context.threads);
  std::vector<int64_t>& task_begin = workspace.task_begin;
  const std::vector<char>& alone = workspace.alone;
  std::vector<int64_t>& task_units = workspace.task_units;
  task_begin.assign(1, 0);
  task_units.clear();
  int64_t total_tokens = 0;
  for (const kv::WorkItem& item : plan.items) total_tokens += plan.segment_of(item).tokens;
  for (const kv::WorkItem& item : plan.items) {
    const int64_t units = units_per_task(plan, item, split, total_tokens, context.threads);
    task_units.push_back(units);
    task_begin.push_back(task_begin.back() + (split.units + units - 1) / units *
                                                 tiles_of(item, split.group, task_lanes));
  }
  const size_t scratch_bytes = cpu::attention_scratch_bytes(static_cast<int>(head_dim));
  while (workspace.scratch.size() < static_cast<size_t>(std::max(1, context.threads)))
    workspace.scratch.emplace_back();
  for (AlignedBuffer& scratch : workspace.scratch)
    if (scratch.bytes() < scratch_bytes) scratch = AlignedBuffer(scratch_bytes);

  parallel_for(context, task_begin.back(), [&](int64_t index, int worker) {
    const auto item_index = static_cast<size_t>(
        std::upper_bound(task_begin.begin(), task_begin.end(), index) - task_begin.begin() - 1);
    const kv::WorkItem& item = plan.items[item_index];
    const int64_t tiles = tiles_of(item, split.group, task_lanes);
    const int64_t units = task_units[item_index];
    const int64_t unit = (index - task_begin[item_index]) / tiles * units;
    // Last tiles first: under a causal mask they are the longest, and a long task taken last leaves
    // others idle.
    const int64_t tile = tiles - 1 - (index - task_begin[item_index]) % tiles;

    cpu::AttentionTask task = task_of_item(plan, item, q, params);
    const int64_t lanes = (item.end_row - item.first_row) * split.group;
    task.first_head = static_cast<int>(unit * split.group);
    task.group = static_cast<int>(split.group);
    task.first_lane = static_cast<int>(tile * task_lanes);
    task.units = static_cast<int>(std::min(units, split.units - unit));
    task.lanes =
        task.units * static_cast<int>(std::min<int64_t>(task_lanes, lanes - task.first_lane));
    const kv::CacheView& cache = plan.cache_of(plan.segment_of(item));
    const size_t element_bytes = size_of(cache.dtype);
    task.unit_bytes = static_cast<size_t>(cache.head_stride) * element_bytes;
    const int64_t kv_head = unit * split.group / (q.heads / plan.kv_heads());
    const int64_t base = layer * cache.layer_stride + kv_head * cache.head_stride;
    task.keys = static_cast<const char*>(cache.keys) + static_cast<size_t>(base) * element_bytes;
    task.values =
        static_cast<const char*>(cache.values) + static_cast<size_t>(base) * element_bytes;
    if (task.has_alibi) {
      task.alibi_slopes = params.alibi.slopes.data() + unit;
      task.alibi_log2 = kLog2E * (task.alibi_rounded ? params.alibi.factor : 1.0f);
    }
    if (alone[item_index]) {
      const int64_t row_elements = q.heads * head_dim;
      task.out = static_cast<char*>(out->data) +
                 static_cast<size_t>(item.first_row * row_elements) * size_of(out->dtype);
      task.out_dtype = out->dtype;
      task.out_row_stride = row_elements;
    } else {
      const int64_t first = workspace.partials.item_begin[item_index];
      task.partial_o = workspace.partials.o.as<float>() + first * head_dim;
      task.partial_m = workspace.partials.m.as<float>() + first;
      task.partial_n = workspace.partials.n.as<float>() + first;
    }
    void* scratch = workspace.scratch[static_cast<size_t>(worker)].data();
    // By item: dtypes of one plan's caches may differ.
    if (task.kv_dtype == DType::kBF16 && context.isa == Isa::kAvx512Bf16 && head_dim % 2 == 0) {
      cpu::attention_avx512_bf16(task, scratch);
    } else {
      cpu::attention_f32(task, scratch, context.isa);
    }
  });
}

// Merges rows for which `wanted` holds.
template <typename Wanted>
void merge_rows(const kv::AttentionPlan& plan, const Partials& partials, const OutputView& out,
                const Context& context, Wanted&& wanted) {
  const int64_t row_elements = partials.heads * partials.head_dim;
  parallel_for(context, plan.rows(), [&](int64_t row, int) {
    if (!wanted(row)) return;
    thread_local std::vector<int64_t> entries;
    thread_local AlignedBuffer weights;
    entries.clear();
    for (int32_t i = plan.row_begin[static_cast<size_t>(row)];
         i < plan.row_begin[static_cast<size_t>(row) + 1]; ++i) {
      const auto item = static_cast<size_t>(plan.row_items[static_cast<size_t>(i)]);
      entries.push_back(partials.item_begin[item] +
                        (row - plan.items[item].first_row) * partials.heads);
    }
    const size_t weight_bytes = 16 * sizeof(float) * std::max<size_t>(1, entries.size());
    if (weights.bytes() < weight_bytes) weights = AlignedBuffer(weight_bytes);
    cpu::merge_row({.entries = entries,
                    .o = partials.o.as<float>(),
                    .m = partials.m.as<float>(),
                    .n = partials.n.as<float>(),
                    .heads = static_cast<int>(partials.heads),
                    .head_dim = static_cast<int>(partials.head_dim),
                    .out = static_cast<char*>(out.data) +
                           static_cast<size_t>(row * row_elements) * size_of(out.dtype),
                    .out_dtype = out.dtype,
                    .weights = weights.as<float>()},
                   context.isa);
  });
}

}  // namespace

void Partials::prepare(const kv::AttentionPlan& plan, int64_t query_heads) {
  heads = query_heads;
  head_dim = plan.head_dim();
  item_begin.assign(1, 0);
  for (const kv::WorkItem& item : plan.items)
    item_begin.push_back(item_begin.back() + (item.end_row - item.first_row) * heads);
  const auto entries = static_cast<size_t>(item_begin.back());
  const auto grow = [](AlignedBuffer& buffer, size_t bytes) {
    if (buffer.bytes() < bytes) buffer = AlignedBuffer(bytes);
  };
  grow(o, entries * static_cast<size_t>(head_dim) * sizeof(float));
  grow(m, entries * sizeof(float));
  grow(n, entries * sizeof(float));
}

void attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
               const AttentionParams& params, const OutputView& out, AttentionWorkspace& workspace,
               const Context& context) {
  std::vector<char>& alone = workspace.alone;
  alone.clear();
  for (const kv::WorkItem& item : plan.items) alone.push_back(is_alone(plan, item));
  if (std::find(alone.begin(), alone.end(), 0) != alone.end())
    workspace.partials.prepare(plan, q.heads);
  run_items(plan, layer, q, params, &out, workspace, context);
  // Rows of an item that is not alone throughout go through partials even where no other item
  // covers them.
  std::vector<char>& merged = workspace.merged;
  merged.assign(static_cast<size_t>(plan.rows()), 1);
  for (size_t i = 0; i < plan.items.size(); ++i)
    if (alone[i])
      std::fill(merged.begin() + plan.items[i].first_row, merged.begin() + plan.items[i].end_row,
                char{0});
  if (std::find(merged.begin(), merged.end(), 1) == merged.end()) return;
  workspace.partials.heads = q.heads;
  workspace.partials.head_dim = plan.head_dim();
  merge_rows(plan, workspace.partials, out, context,
             [&](int64_t row) { return merged[static_cast<size_t>(row)] != 0; });
}

void partial_attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                       const AttentionParams& params, AttentionWorkspace& workspace,
                       const Context& context) {
  workspace.alone.assign(plan.items.size(), 0);
  workspace.partials.prepare(plan, q.heads);
  run_items(plan, layer, q, params, nullptr, workspace, context);
}

void merge_partials(const kv::AttentionPlan& plan, const Partials& partials, const OutputView& out,
                    const Context& context) {
  merge_rows(plan, partials, out, context, [](int64_t) { return true; });
}

}  // namespace reprise::kernels
