// Runs the tasks of a schedule and merges their partial results.
#include "core/kernels/attention/attention.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/device/operation_log.h"
#include "core/kernels/attention/cpu/attention_task.h"

namespace reprise::kernels {
namespace {

constexpr float kLog2E = 1.44269504088896f;

// The inputs of one layer's attention.
struct LayerCall {
  const AttentionStep& step;
  int64_t layer;
  const QueryView& q;
};

void set_queries(const LayerCall& call, const kv::WorkItem& item, const ScheduleTask& task,
                 cpu::AttentionTask& out) {
  const AttentionSchedule& schedule = call.step.schedule;
  out.q = call.q.data + item.first_row * call.q.row_stride;
  out.q_row_stride = call.q.row_stride;
  out.heads = static_cast<int>(call.q.heads);
  out.head_dim = static_cast<int>(call.step.plan.head_dim());
  out.group = static_cast<int>(schedule.group);
  out.first_head = task.first_unit * out.group;
  out.units = task.units;
  out.first_lane = task.first_lane;
  out.lanes = task.units * task.lanes;
}

void set_keys(const LayerCall& call, const SchedulePart& part, const kv::Segment& segment,
              cpu::AttentionTask& out) {
  const kv::AttentionPlan& plan = call.step.plan;
  const kv::CacheView& cache = plan.cache_of(segment);
  const size_t element_bytes = size_of(cache.dtype);
  const int64_t kv_head = out.first_head / (call.q.heads / plan.kv_heads());
  const auto base =
      static_cast<size_t>(call.layer * cache.layer_stride + kv_head * cache.head_stride) *
      element_bytes;
  out.keys = static_cast<const char*>(cache.keys) + base;
  out.values = static_cast<const char*>(cache.values) + base;
  out.unit_bytes = static_cast<size_t>(cache.head_stride) * element_bytes;
  out.kv_dtype = cache.dtype;
  out.block_offsets = plan.block_offsets.data() + segment.first_block;
  out.block_tokens = segment.block_tokens;
  out.skipped = segment.skipped;
  out.tokens = segment.tokens;
  out.first_position = segment.first_position;
  out.first_key = part.first_key;
  out.end_key = part.end_key;
}

void set_scores(const LayerCall& call, const kv::WorkItem& item, const ScheduleTask& task,
                cpu::AttentionTask& out) {
  const AttentionParams& params = call.step.params;
  out.is_causal = item.mask == kv::Mask::kCausal;
  out.visible = item.visible;
  out.window = params.window;
  out.row_positions = call.step.plan.row_positions.data() + item.first_row;
  out.scale_log2 = params.scale * kLog2E;
  out.has_alibi = !params.alibi.slopes.empty();
  out.alibi_rounded = params.alibi.rounded_to_bf16;
  if (!out.has_alibi) return;
  out.alibi_slopes = params.alibi.slopes.data() + task.first_unit;
  out.alibi_log2 = kLog2E * (out.alibi_rounded ? params.alibi.factor : 1.0f);
}

void set_output(const OutputView& view, int32_t first_row, cpu::AttentionTask& out) {
  out.out_row_stride = static_cast<int64_t>(out.heads) * out.head_dim;
  out.out = static_cast<char*>(view.data) +
            static_cast<size_t>(first_row * out.out_row_stride) * size_of(view.dtype);
  out.out_dtype = view.dtype;
}

void set_output(Partials& partials, int64_t first_entry, cpu::AttentionTask& out) {
  out.partial_o = partials.o.as<float>() + first_entry * out.head_dim;
  out.partial_m = partials.m.as<float>() + first_entry;
  out.partial_n = partials.n.as<float>() + first_entry;
  if (partials.is_direct) out.partial_locks = partials.locks.as<uint8_t>() + first_entry;
}

void prepare_scratch(AttentionWorkspace& workspace, int64_t head_dim, const Context& context) {
  const size_t bytes = cpu::attention_scratch_bytes(static_cast<int>(head_dim));
  while (workspace.scratch.size() < static_cast<size_t>(std::max(1, context.threads)))
    workspace.scratch.emplace_back();
  for (AlignedBuffer& scratch : workspace.scratch)
    if (scratch.bytes() < bytes) scratch = AlignedBuffer(bytes);
}

// Runs all tasks of the schedule. `out` may be null if no part of the schedule is_alone.
void run_tasks(const LayerCall& call, const OutputView* out, AttentionWorkspace& workspace,
               const Context& context) {
  const kv::AttentionPlan& plan = call.step.plan;
  const AttentionSchedule& schedule = call.step.schedule;
  REPRISE_CHECK(
      schedule.heads == call.q.heads && schedule.part_begin.size() == plan.items.size() + 1,
      "the schedule is of {} heads and {} items, the step of {} and {}", schedule.heads,
      schedule.part_begin.size() - 1, call.q.heads, plan.items.size());
  prepare_scratch(workspace, plan.head_dim(), context);
  workspace.partials.prepare(schedule, plan.head_dim());
  parallel_for(context, std::ssize(schedule.tasks), [&](int64_t index, int worker) {
    const ScheduleTask& task = schedule.tasks[static_cast<size_t>(index)];
    const SchedulePart& part = schedule.parts[static_cast<size_t>(task.part)];
    const kv::WorkItem& item = plan.items[static_cast<size_t>(part.item)];
    cpu::AttentionTask run;
    set_queries(call, item, task, run);
    set_keys(call, part, plan.segment_of(item), run);
    run.fetch = run.kv_dtype == DType::kBF16 ? context.fetch_bf16 : context.fetch_f32;
    // The kernel is chosen by the item's lanes, not by the task's. The number of threads decides
    // how many lanes the item's last task has, and it must not change results.
    run.takes_all_as_many = context.is_batch_invariant ||
                            (item.end_row - item.first_row) * schedule.group > cpu::kFewLanes;
    set_scores(call, item, task, run);
    if (part.is_alone) {
      set_output(*out, item.first_row, run);
    } else {
      set_output(workspace.partials, part.first_entry, run);
    }
    void* scratch = workspace.scratch[static_cast<size_t>(worker)].data();
    // The kernel is chosen for each task, because a plan's caches may have different dtypes.
    if (run.kv_dtype != DType::kBF16 || !has_bf16_dot(context.isa) || run.head_dim % 2 != 0) {
      cpu::attention_f32(run, scratch, context.isa);
    } else if (context.isa == Isa::kAmx && run.head_dim % 32 == 0 && !run.has_few_lanes()) {
      cpu::attention_amx(run, scratch);
    } else {
      cpu::attention_avx512_bf16(run, scratch);
    }
  });
}

}  // namespace

void Partials::prepare(const AttentionSchedule& schedule, int64_t head_dim_wanted) {
  heads = schedule.heads;
  head_dim = head_dim_wanted;
  const auto entries = static_cast<size_t>(schedule.entries);
  const auto grow = [](AlignedBuffer& buffer, size_t bytes) {
    if (buffer.bytes() < bytes) buffer = AlignedBuffer(bytes);
  };
  grow(o, entries * static_cast<size_t>(head_dim) * sizeof(float));
  grow(m, entries * sizeof(float));
  grow(n, entries * sizeof(float));
  is_direct = schedule.is_direct;
  if (!is_direct) return;
  grow(locks, entries);
  // o needs no initial value: the first part that saw a key overwrites it.
  std::fill_n(m.as<float>(), entries, -std::numeric_limits<float>::infinity());
  std::fill_n(n.as<float>(), entries, 0.0f);
  std::fill_n(locks.as<uint8_t>(), entries, uint8_t{0});
}

void merge_partials(const AttentionSchedule& schedule, const Partials& partials,
                    const OutputView& out, const Context& context) {
  const OperationSpan span(context, "merging of attention");
  const int64_t row_elements = partials.heads * partials.head_dim;
  parallel_for(context, std::ssize(schedule.merged_rows), [&](int64_t index, int) {
    const auto i = static_cast<size_t>(index);
    const auto begin = static_cast<size_t>(schedule.merge_begin[i]);
    const std::span<const int64_t> entries =
        std::span(schedule.merge_entries)
            .subspan(begin, static_cast<size_t>(schedule.merge_begin[i + 1]) - begin);
    thread_local AlignedBuffer weights;
    const size_t weight_bytes = 16 * sizeof(float) * std::max<size_t>(1, entries.size());
    if (weights.bytes() < weight_bytes) weights = AlignedBuffer(weight_bytes);
    cpu::merge_row(
        {.entries = entries,
         .o = partials.o.as<float>(),
         .m = partials.m.as<float>(),
         .n = partials.n.as<float>(),
         .heads = static_cast<int>(partials.heads),
         .head_dim = static_cast<int>(partials.head_dim),
         .out = static_cast<char*>(out.data) +
                static_cast<size_t>(schedule.merged_rows[i] * row_elements) * size_of(out.dtype),
         .out_dtype = out.dtype,
         .weights = weights.as<float>()},
        context.isa);
  });
}

void attention(const AttentionStep& step, int64_t layer, const QueryView& q, const OutputView& out,
               AttentionWorkspace& workspace, const Context& context) {
  require_device(context.device, "attention apart from a model's step");
  {
    const OperationSpan span(context, "attention");
    run_tasks({.step = step, .layer = layer, .q = q}, &out, workspace, context);
  }
  if (!step.schedule.merged_rows.empty())
    merge_partials(step.schedule, workspace.partials, out, context);
}

void attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
               const AttentionParams& params, const OutputView& out, AttentionWorkspace& workspace,
               const Context& context) {
  workspace.schedule.build(plan, q.heads, params, context);
  attention({.plan = plan, .schedule = workspace.schedule, .params = params}, layer, q, out,
            workspace, context);
}

void partial_attention(const AttentionStep& step, int64_t layer, const QueryView& q,
                       AttentionWorkspace& workspace, const Context& context) {
  require_device(context.device, "partial attention");
  run_tasks({.step = step, .layer = layer, .q = q}, nullptr, workspace, context);
}

}  // namespace reprise::kernels
