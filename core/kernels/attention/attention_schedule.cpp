#include "core/kernels/attention/attention_schedule.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/base/error.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/cpu/attention_task.h"

namespace reprise::kernels {
namespace {

// Number of tasks that is enough for a plan: if it has this many tasks of equal length, no item is
// split. It suffices for as many workers as DRAM can keep busy, and is small enough that a step of
// 32 heads is not split.
constexpr int64_t kEnoughTasks = 32;
// Least keys of a part, so that storing and merging the part's results takes at most 2 % of the
// part's time. With many lanes merging takes a larger share, so parts are longer. (One thread of a
// Xeon with AVX512-BF16, parts of 1024 keys: a split item takes 1.01 times as long as an unsplit
// one with 8 lanes, and 1.02 to 1.04 times with 64 lanes.)
constexpr int64_t kLeastKeysFewLanes = 1024, kLeastKeysManyLanes = 2048;

// The sizes of one item.
struct ItemShape {
  const kv::WorkItem& item;
  const kv::Segment& segment;
  int64_t lanes = 0;  // lanes of each unit
  KeyRange seen;      // keys that any row may see

  [[nodiscard]] int64_t lane_tiles() const { return (lanes + cpu::kLaneTile - 1) / cpu::kLaneTile; }
};

class Builder {
 public:
  Builder(const kv::AttentionPlan& plan, const AttentionParams& params, const Context& context,
          RowResults results, AttentionSchedule& out)
      : plan_(plan), params_(params), context_(context), results_(results), out_(out) {}

  void build() {
    int64_t tasks_keys = 0;
    for (const kv::WorkItem& item : plan_.items) {
      const ItemShape shape = shape_of(item);
      tasks_keys += shape.lane_tiles() * out_.units * shape.seen.count();
      total_keys_ += shape.seen.count();
    }
    share_keys_ = std::max<int64_t>(1, tasks_keys / kEnoughTasks);
    cut_into_parts(cpu::kKeyTile,
                   [&](size_t, const ItemShape& shape) { return tasks_parts(shape); });
    task_lanes_ = lanes_per_task();
    for (size_t part = 0; part < out_.parts.size(); ++part)
      append_tasks(static_cast<int32_t>(part));
    index_merged_rows();
  }

  void cut(const ItemCuts& cuts) {
    REPRISE_CHECK(cuts.parts.size() == plan_.items.size() && cuts.key_tile > 0,
                  "cuts of {} items for {}, key tiles of {}", cuts.parts.size(), plan_.items.size(),
                  cuts.key_tile);
    cut_into_parts(cuts.key_tile,
                   [&](size_t item, const ItemShape&) { return int64_t{cuts.parts[item]}; });
    index_merged_rows();
  }

 private:
  [[nodiscard]] ItemShape shape_of(const kv::WorkItem& item) const {
    ItemShape shape{.item = item,
                    .segment = plan_.segment_of(item),
                    .lanes = (item.end_row - item.first_row) * out_.group};
    shape.seen = seen_keys(plan_, item, item.first_row, item.end_row, params_.window);
    return shape;
  }

  // Number of parts into which an item is divided for the CPU.
  [[nodiscard]] int64_t tasks_parts(const ItemShape& shape) const {
    if (context_.is_batch_invariant)
      return 1;  // a split by share_keys_ would depend on the other items
    const int64_t least = shape.lanes <= cpu::kFewLanes ? kLeastKeysFewLanes : kLeastKeysManyLanes;
    return std::max<int64_t>(1, shape.seen.count() / std::max(least, share_keys_));
  }

  template <typename PartsOf>
  void cut_into_parts(int64_t key_tile, PartsOf&& parts_of_item) {
    out_.part_begin.assign(1, 0);
    for (size_t i = 0; i < plan_.items.size(); ++i) {
      const ItemShape shape = shape_of(plan_.items[i]);
      // Parts begin where key tiles begin. Key tiles are counted from the start of the segment's
      // first block.
      const int32_t skipped = shape.segment.skipped;
      const int64_t first_tile = (skipped + shape.seen.first) / key_tile;
      const int64_t tiles = (skipped + shape.seen.end + key_tile - 1) / key_tile - first_tile;
      const int64_t count = parts_of_item(i, shape);
      const auto border = [&](int64_t part) {
        const int64_t key = (first_tile + tiles * part / count) * key_tile - skipped;
        return static_cast<int32_t>(key);
      };
      const bool is_alone = results_ == RowResults::kFinished && count == 1 && has_no_other(shape);
      for (int64_t part = 0; part < count; ++part) {
        out_.parts.push_back(
            {.item = static_cast<int32_t>(i),
             .first_key = part == 0 ? 0 : border(part),
             .end_key = part + 1 == count ? shape.segment.tokens : border(part + 1),
             .is_alone = is_alone,
             .first_entry = is_alone ? 0 : first_entry(shape.item)});
        if (!is_alone && !out_.is_direct)
          out_.entries += (shape.item.end_row - shape.item.first_row) * out_.heads;
      }
      out_.part_begin.push_back(static_cast<int32_t>(out_.parts.size()));
    }
  }

  // Entry of (the item's first row, head 0) for a part that is not is_alone.
  [[nodiscard]] int64_t first_entry(const kv::WorkItem& item) const {
    return out_.is_direct ? item.first_row * out_.heads : out_.entries;
  }

  // True if no other item of the plan has a row of this item.
  [[nodiscard]] bool has_no_other(const ItemShape& shape) const {
    for (int32_t row = shape.item.first_row; row < shape.item.end_row; ++row)
      if (plan_.row_begin[static_cast<size_t>(row) + 1] !=
          plan_.row_begin[static_cast<size_t>(row)] + 1)
        return false;
    return true;
  }

  // Number of lanes of a task: as many as share converted keys and values, or fewer if threads
  // would otherwise have no work. Results do not depend on this number.
  [[nodiscard]] int64_t lanes_per_task() const {
    int64_t lanes = 0;
    for (const SchedulePart& part : out_.parts) {
      const kv::WorkItem& item = plan_.items[static_cast<size_t>(part.item)];
      lanes += (item.end_row - item.first_row) * out_.group;
    }
    constexpr int64_t kTasksPerThread = 8;
    int64_t tiles = cpu::kTaskTiles;
    while (tiles > 1 &&
           lanes * out_.units < kTasksPerThread * context_.threads * tiles * cpu::kLaneTile)
      tiles /= 2;
    return tiles * cpu::kLaneTile;
  }

  // Number of units (kv heads) that one task computes in turn. It is more than 1 only for short
  // blocks and few lanes, where such a task reads longer runs of memory, and only as large as
  // leaves work for every thread. Results do not depend on this number.
  [[nodiscard]] int64_t units_per_task(const ItemShape& shape, int64_t keys) const {
    const kv::Segment& segment = shape.segment;
    // With ALiBi, units are query heads; several of them share a kv head, so they do not follow one
    // another in memory.
    if (context_.is_batch_invariant || shape.lanes > cpu::kFewLanes ||
        out_.units != plan_.kv_heads() || segment.block_tokens > cpu::kKeyTile || keys == 0 ||
        segment.skipped + segment.tokens <= segment.block_tokens)
      return 1;
    // The most units with which a task is at most 1 / (threads * shares) of all work.
    const auto fitting = [&](int64_t shares) {
      return total_keys_ * out_.units / (keys * context_.threads * shares);
    };
    int64_t units = std::min(out_.units, cpu::kTaskLanes / shape.lanes);
    const int64_t most = fitting(2) > 1 ? fitting(2) : fitting(1);
    while (units > 1 && units > most) units /= 2;
    return units;
  }

  void append_tasks(int32_t part_index) {
    const SchedulePart& part = out_.parts[static_cast<size_t>(part_index)];
    const ItemShape shape = shape_of(plan_.items[static_cast<size_t>(part.item)]);
    const KeyRange keys{.first = std::max(part.first_key, shape.seen.first),
                        .end = std::min(part.end_key, shape.seen.end)};
    const int64_t units = units_per_task(shape, keys.count());
    const int64_t tiles = (shape.lanes + task_lanes_ - 1) / task_lanes_;
    for (int64_t unit = 0; unit < out_.units; unit += units)
      // The last tiles come first: under a causal mask they are the longest, and a long task at the
      // end would leave other threads idle.
      for (int64_t tile = tiles - 1; tile >= 0; --tile)
        out_.tasks.push_back({.part = part_index,
                              .first_unit = static_cast<int32_t>(unit),
                              .units = static_cast<int32_t>(std::min(units, out_.units - unit)),
                              .first_lane = static_cast<int32_t>(tile * task_lanes_),
                              .lanes = static_cast<int32_t>(
                                  std::min(task_lanes_, shape.lanes - tile * task_lanes_))});
  }

  // A row's partial results are merged in the order of their segments' positions, so that the sum
  // has the same bits for any order of segments in the plan.
  void index_merged_rows() {
    out_.merge_begin.assign(1, 0);
    for (int32_t row = 0; row < plan_.rows(); ++row) {
      const int32_t begin = plan_.row_begin[static_cast<size_t>(row)];
      const int32_t end = plan_.row_begin[static_cast<size_t>(row) + 1];
      if (end == begin + 1 && parts_of(begin)[0].is_alone) continue;
      if (out_.is_direct)
        out_.merge_entries.push_back(row * out_.heads);
      else
        index_parts(row, begin, end);
      out_.merged_rows.push_back(row);
      out_.merge_begin.push_back(static_cast<int32_t>(out_.merge_entries.size()));
    }
  }

  void index_parts(int32_t row, int32_t begin, int32_t end) {
    for (const int32_t i : by_position(begin, end))
      for (const SchedulePart& part : parts_of(i))
        out_.merge_entries.push_back(part.first_entry +
                                     (row - plan_.items[static_cast<size_t>(part.item)].first_row) *
                                         out_.heads);
  }

  // Entries [begin, end) of the plan's row index, sorted by their segments' positions.
  [[nodiscard]] std::span<const int32_t> by_position(int32_t begin, int32_t end) {
    merged_items_.resize(static_cast<size_t>(end - begin));
    std::iota(merged_items_.begin(), merged_items_.end(), begin);
    std::sort(merged_items_.begin(), merged_items_.end(), [&](int32_t a, int32_t b) {
      const int32_t at_a = segment_of(a).first_position, at_b = segment_of(b).first_position;
      return at_a != at_b ? at_a < at_b : a < b;
    });
    return merged_items_;
  }

  [[nodiscard]] const kv::Segment& segment_of(int32_t index) const {
    const auto item = static_cast<size_t>(plan_.row_items[static_cast<size_t>(index)]);
    return plan_.segments[static_cast<size_t>(plan_.items[item].segment)];
  }

  // The parts of the item at entry `index` of the plan's row index.
  [[nodiscard]] std::span<const SchedulePart> parts_of(int32_t index) const {
    const auto item = static_cast<size_t>(plan_.row_items[static_cast<size_t>(index)]);
    const auto begin = static_cast<size_t>(out_.part_begin[item]);
    return std::span(out_.parts)
        .subspan(begin, static_cast<size_t>(out_.part_begin[item + 1]) - begin);
  }

  const kv::AttentionPlan& plan_;
  const AttentionParams& params_;
  const Context& context_;
  RowResults results_;
  AttentionSchedule& out_;
  int64_t total_keys_ = 0;  // keys of all items
  int64_t share_keys_ = 0;  // keys of a task if all work were kEnoughTasks equal tasks
  int64_t task_lanes_ = 0;
  std::vector<int32_t> merged_items_;  // by_position() of the current row
};

// Throws Error if a row reads its keys in several items or from the middle of a block. The borders
// of such items depend on the other sequences, so the order in which the row's sums are added up
// would depend on them, too.
void require_whole_reads(const kv::AttentionPlan& plan) {
  for (size_t row = 0; row + 1 < plan.row_begin.size(); ++row) {
    const int32_t begin = plan.row_begin[row], items = plan.row_begin[row + 1] - begin;
    if (items == 0) continue;
    const auto item = static_cast<size_t>(plan.row_items[static_cast<size_t>(begin)]);
    if (items > 1 || plan.segment_of(plan.items[item]).skipped > 0)
      raise(
          "the token at position {} reads its keys by {} work item(s), {} tokens into a block: "
          "batch-invariant attention reads all keys of a sequence by one item from a block's "
          "beginning; declare no prefixes, and take a cache that shares no reads",
          plan.row_positions[row], items, plan.segment_of(plan.items[item]).skipped);
  }
}

// Makes an empty schedule for the plan's heads.
void start_empty(const kv::AttentionPlan& plan, int64_t query_heads, const AttentionParams& params,
                 AttentionSchedule& out) {
  const int64_t kv_heads = plan.kv_heads();
  if (kv_heads <= 0 || query_heads % kv_heads != 0)
    raise_shape("{} query heads cannot share {} kv heads evenly", query_heads, kv_heads);
  if (plan.head_dim() > cpu::kMaxHeadDim)
    raise_shape("head_dim {} is larger than the {} the attention kernels allow", plan.head_dim(),
                cpu::kMaxHeadDim);
  const bool has_slopes = !params.alibi.slopes.empty();
  out.heads = query_heads;
  out.units = has_slopes ? query_heads : kv_heads;
  out.group = query_heads / out.units;
  out.is_direct = plan.reduction == kv::Reduction::kDirect;
  out.entries = out.is_direct ? plan.rows() * query_heads : 0;
  out.parts.clear();
  out.tasks.clear();
  out.merged_rows.clear();
  out.merge_entries.clear();
}

}  // namespace

KeyRange seen_keys(const kv::AttentionPlan& plan, const kv::WorkItem& item, int32_t first_row,
                   int32_t end_row, int64_t window) {
  const kv::Segment& segment = plan.segment_of(item);
  KeyRange seen{.first = 0, .end = segment.tokens};
  if (item.mask == kv::Mask::kCausal) {
    const int64_t last_sees = static_cast<int64_t>(item.visible) + end_row - item.first_row - 1;
    seen.end = static_cast<int32_t>(std::clamp<int64_t>(last_sees, 0, segment.tokens));
  }
  if (window > 0) {
    const auto rows = plan.row_positions.begin();
    const int64_t earliest = *std::min_element(rows + first_row, rows + end_row) - window + 1;
    seen.first = static_cast<int32_t>(
        std::clamp<int64_t>(earliest - segment.first_position, 0, segment.tokens));
  }
  return seen;
}

void AttentionSchedule::build(const kv::AttentionPlan& plan, int64_t query_heads,
                              const AttentionParams& params, const Context& context,
                              RowResults results) {
  if (context.is_batch_invariant) require_whole_reads(plan);
  start_empty(plan, query_heads, params, *this);
  Builder(plan, params, context, results, *this).build();
}

void AttentionSchedule::cut(const kv::AttentionPlan& plan, int64_t query_heads,
                            const AttentionParams& params, const ItemCuts& cuts,
                            RowResults results) {
  if (plan.reduction == kv::Reduction::kDirect)
    raise("only the CPU merges partial results directly: leave out \"direct_reduction\"");
  start_empty(plan, query_heads, params, *this);
  Builder(plan, params, {}, results, *this).cut(cuts);
}

}  // namespace reprise::kernels
