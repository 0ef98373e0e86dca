#include "core/kernels/attention/cuda/schedule.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace reprise::kernels::cuda {
namespace {

constexpr double kLog2E = 1.44269504088896;
constexpr int64_t kCopyBytes = 16;                 // size of one cp.async
constexpr int64_t kCopyElements = kCopyBytes / 2;  // in bf16 or f16 elements

void require_cache(const kv::CacheView& cache) {
  require_kv_dtype(cache.dtype);
  const auto address = [](const void* data) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  };
  if ((address(cache.keys) | address(cache.values)) % kCopyBytes != 0 ||
      (cache.layer_stride | cache.head_stride) % kCopyElements != 0)
    raise(
        "a KV cache on device cuda must be aligned to {} bytes; its keys are at {}, its values at "
        "{}, layers {} and heads {} elements apart",
        kCopyBytes, cache.keys, cache.values, cache.layer_stride, cache.head_stride);
}

void require_plan(const kv::AttentionPlan& plan) {
  require_head_dim(plan.head_dim());
  for (const kv::CacheView& cache : plan.caches) require_cache(cache);
  for (const int64_t offset : plan.block_offsets)
    if (offset % kCopyElements != 0)
      raise("a block of the KV cache lies {} elements into it; device cuda needs multiples of {}",
            offset, kCopyElements);
}

// The rows of the plan to which lanes [first, end) of an item's kv head belong.
struct RowRange {
  int32_t first = 0, end = 0;
};
RowRange rows_of(const kv::WorkItem& item, int64_t first_lane, int64_t end_lane, int64_t group) {
  return {.first = static_cast<int32_t>(item.first_row + first_lane / group),
          .end = static_cast<int32_t>(item.first_row + ceil_div(end_lane, group))};
}

ItemLoad load_of(const kv::AttentionPlan& plan, const kv::WorkItem& item, int64_t group,
                 int64_t window) {
  const kv::Segment& segment = plan.segment_of(item);
  const KeyRange seen = seen_keys(plan, item, item.first_row, item.end_row, window);
  const KeyRange first = seen_keys(plan, item, item.first_row, item.first_row + 1, window);
  const KeyRange last = seen_keys(plan, item, item.end_row - 1, item.end_row, window);
  return {.lanes = (item.end_row - item.first_row) * group,
          // The average of the first and the last row, because the number of visible keys changes
          // evenly along an item's rows.
          .mean_keys = 0.5 * static_cast<double>(first.count() + last.count()),
          .key_tiles = ceil_div(segment.skipped + seen.end, kKeyTile) -
                       (segment.skipped + seen.first) / kKeyTile};
}

class TaskWriter {
 public:
  TaskWriter(const kv::AttentionPlan& plan, int64_t window, const TileChoice& choice,
             StepSchedule& out)
      : plan_(plan),
        window_(window),
        choice_(choice),
        group_(out.cut.heads / plan.kv_heads()),
        out_(out) {}

  void write() {
    for (const SchedulePart& part : out_.cut.parts) append_part(part);
    sort();
  }

 private:
  struct Place {
    int32_t shape = 0;
    DType dtype = DType::kBF16;
    bool operator==(const Place&) const = default;
  };

  void append_part(const SchedulePart& part) {
    const kv::WorkItem& item = plan_.items[static_cast<size_t>(part.item)];
    const Place place{.shape = choice_.shapes[static_cast<size_t>(part.item)],
                      .dtype = plan_.cache_of(plan_.segment_of(item)).dtype};
    const int64_t lanes = (item.end_row - item.first_row) * group_;
    const int64_t tile = kTileShapes[static_cast<size_t>(place.shape)].lanes;
    for (int64_t first = 0; first < lanes; first += tile) {
      out_.tasks.push_back(task_of(part, item, first, std::min(tile, lanes - first)));
      places_.push_back(place);
    }
  }

  [[nodiscard]] AttentionTask task_of(const SchedulePart& part, const kv::WorkItem& item,
                                      int64_t first_lane, int64_t lanes) const {
    const kv::Segment& segment = plan_.segment_of(item);
    const RowRange rows = rows_of(item, first_lane, first_lane + lanes, group_);
    const KeyRange seen = seen_keys(plan_, item, rows.first, rows.end, window_);
    return {.first_row = item.first_row,
            .first_lane = static_cast<int32_t>(first_lane),
            .lanes = static_cast<int32_t>(lanes),
            .first_key = std::max(part.first_key, seen.first),
            .end_key = std::min(part.end_key, seen.end),
            .visible = item.mask == kv::Mask::kCausal ? item.visible : AttentionTask::kAllVisible,
            .first_position = segment.first_position,
            .cache = segment.cache,
            .first_block = segment.first_block,
            .skipped = segment.skipped,
            .block_tokens = Divisor::of(segment.block_tokens),
            .first_merged = part.is_alone ? AttentionTask::kAlone : index_of_merged(item.first_row),
            .first_entry = part.first_entry};
  }

  [[nodiscard]] int32_t index_of_merged(int32_t row) const {
    const std::vector<int32_t>& rows = out_.cut.merged_rows;
    return static_cast<int32_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
  }

  // Sorts tasks by launch. Within a launch the longest tasks come first, because the launch would
  // wait for a long task that begins late.
  void sort() {
    const auto key = [&](size_t i) {
      return std::tuple(places_[i].shape, places_[i].dtype,
                        out_.tasks[i].first_key - out_.tasks[i].end_key);
    };
    std::vector<size_t> order(out_.tasks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
    std::vector<AttentionTask> sorted;
    sorted.reserve(order.size());
    for (const size_t i : order) {
      if (sorted.empty() || places_[i] != last_) begin_launch(places_[i], sorted.size());
      sorted.push_back(out_.tasks[i]);
      ++out_.launches.back().end_task;
    }
    out_.tasks = std::move(sorted);
  }

  void begin_launch(const Place& place, size_t first_task) {
    last_ = place;
    const auto first = static_cast<int32_t>(first_task);
    out_.launches.push_back(
        {.shape = place.shape, .dtype = place.dtype, .first_task = first, .end_task = first});
  }

  const kv::AttentionPlan& plan_;
  int64_t window_;
  const TileChoice& choice_;
  int64_t group_;
  StepSchedule& out_;
  std::vector<Place> places_;  // [tasks]
  Place last_;
};

}  // namespace

void StepSchedule::build(const kv::AttentionPlan& plan, int64_t heads,
                         const AttentionParams& params, const GpuModel& gpu, RowResults results,
                         const TileOverride& wanted) {
  tasks.clear();
  launches.clear();
  require_plan(plan);
  if (heads % plan.kv_heads() != 0)
    raise_shape("{} query heads cannot share {} kv heads evenly", heads, plan.kv_heads());
  std::vector<ItemLoad> loads;
  for (const kv::WorkItem& item : plan.items)
    loads.push_back(load_of(plan, item, heads / plan.kv_heads(), params.window));
  const TileChoice choice =
      choose_tiles(loads, {.kv_heads = plan.kv_heads(), .head_dim = plan.head_dim()}, gpu, wanted);
  estimate_us = choice.estimate_us;
  cut.cut(plan, heads, params, {.parts = choice.parts, .key_tile = kKeyTile}, results);
  TaskWriter(plan, params.window, choice, *this).write();
  const std::vector<int32_t>& begin = cut.merge_begin;
  merges_in_last_block = wanted.merges_in_last_block && !cut.merged_rows.empty() &&
                         std::adjacent_find(begin.begin(), begin.end()) == begin.end();
}

AttentionWork tiled_work(const StepSchedule& schedule, const kv::AttentionPlan& plan,
                         const AttentionParams& params, const WorkDtypes& dtypes) {
  const auto head_dim = static_cast<double>(plan.head_dim());
  const auto kv_heads = static_cast<double>(plan.kv_heads());
  AttentionWork work = least_work(plan, schedule.cut.heads, params, dtypes);
  work.partial_bytes = 2.0 * static_cast<double>(schedule.cut.entries) * (head_dim + 2.0) * 4.0;
  work.flops = work.exponentials = 0.0;
  double read_bytes = 0.0;
  for (const TileLaunch& launch : schedule.launches) {
    const TileShape& shape = kTileShapes[static_cast<size_t>(launch.shape)];
    for (int32_t i = launch.first_task; i < launch.end_task; ++i) {
      const AttentionTask& task = schedule.tasks[static_cast<size_t>(i)];
      const int64_t keys = std::max(0, task.end_key - task.first_key);
      const auto pairs =
          static_cast<double>(ceil_div(keys, shape.keys) * shape.keys * shape.lanes) * kv_heads;
      read_bytes += 2.0 * static_cast<double>(keys) * kv_heads * head_dim *
                    static_cast<double>(size_of(launch.dtype));
      work.flops += 4.0 * head_dim * pairs;
      work.exponentials += pairs;
    }
  }
  work.reread_bytes = read_bytes - work.kv_bytes;
  return work;
}

int32_t padded_count(int32_t count) {
  const auto unit = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(count)) / 4);
  return unit == 0 ? count : (count + unit - 1) / unit * unit;
}

void ScheduleImage::pad_tasks(const StepSchedule& schedule) {
  tasks_.clear();
  launches_.clear();
  for (const TileLaunch& launch : schedule.launches) {
    const auto first = static_cast<int32_t>(tasks_.size());
    const auto begin = schedule.tasks.begin() + launch.first_task;
    tasks_.insert(tasks_.end(), begin, schedule.tasks.begin() + launch.end_task);
    const int32_t end = first + padded_count(launch.end_task - launch.first_task);
    tasks_.resize(static_cast<size_t>(end));
    launches_.push_back(
        {.shape = launch.shape, .dtype = launch.dtype, .first_task = first, .end_task = end});
  }
}

void ScheduleImage::pad_merged(const AttentionSchedule& cut) {
  const auto padded =
      static_cast<size_t>(padded_count(static_cast<int32_t>(cut.merged_rows.size())));
  merged_rows_ = cut.merged_rows;
  merged_rows_.resize(padded, -1);
  merge_begin_.assign(cut.merge_begin.begin(), cut.merge_begin.end());
  merge_begin_.resize(padded + 1, merge_begin_.empty() ? 0 : merge_begin_.back());
}

void ScheduleImage::set(const StepSchedule& schedule, const kv::AttentionPlan& plan,
                        const AttentionParams& params) {
  pad_tasks(schedule);
  pad_merged(schedule.cut);
  arrivals_.assign(schedule.merges_in_last_block
                       ? merged_rows_.size() * static_cast<size_t>(schedule.cut.heads)
                       : 0,
                   0u);
  caches_.clear();
  for (const kv::CacheView& cache : plan.caches)
    caches_.push_back({.keys = cache.keys,
                       .values = cache.values,
                       .layer_stride = cache.layer_stride,
                       .head_stride = cache.head_stride});
  image_.set(kTasks, std::span(std::as_const(tasks_)));
  image_.set(kCaches, std::span(std::as_const(caches_)));
  image_.set(kBlockOffsets, std::span(plan.block_offsets));
  image_.set(kRowPositions, std::span(plan.row_positions));
  image_.set(kRowSlots, std::span(plan.row_slots));
  image_.set(kSlopes, params.alibi.slopes);
  image_.set(kMergedRows, std::span(std::as_const(merged_rows_)));
  image_.set(kMergeBegin, std::span(std::as_const(merge_begin_)));
  image_.set(kMergeEntries, std::span(schedule.cut.merge_entries));
  image_.set(kArrivals, std::span(std::as_const(arrivals_)));

  const bool has_slopes = !params.alibi.slopes.empty(), is_rounded = params.alibi.rounded_to_bf16;
  call_ = {.heads = static_cast<int32_t>(schedule.cut.heads),
           .kv_heads = static_cast<int32_t>(plan.kv_heads()),
           .group = Divisor::of(static_cast<int32_t>(schedule.cut.heads / plan.kv_heads())),
           // Limited to a value that exceeds any distance between positions, but is small enough
           // that adding positions to it does not overflow.
           .window = static_cast<int32_t>(
               std::min<int64_t>(params.window, std::numeric_limits<int32_t>::max() / 2)),
           .scale_log2 = static_cast<float>(params.scale * kLog2E),
           .alibi_log2 =
               has_slopes ? static_cast<float>(is_rounded ? kLog2E * params.alibi.factor : kLog2E)
                          : 0.0f,
           .alibi_is_rounded = is_rounded};
}

AttentionCall ScheduleImage::call(const void* device) const {
  AttentionCall call = call_;
  call.tasks = at<AttentionTask>(device, kTasks);
  call.caches = at<DeviceCache>(device, kCaches);
  call.block_offsets = at<int64_t>(device, kBlockOffsets);
  call.row_positions = at<int32_t>(device, kRowPositions);
  call.merge_begin = at<int32_t>(device, kMergeBegin);
  call.merge_entries = at<int64_t>(device, kMergeEntries);
  call.alibi_slopes = call_.alibi_log2 == 0.0f ? nullptr : at<float>(device, kSlopes);
  return call;
}

ScheduleImage::Merge ScheduleImage::merge(const void* device) const {
  return {.rows = at<int32_t>(device, kMergedRows),
          .begin = at<int32_t>(device, kMergeBegin),
          .entries = at<int64_t>(device, kMergeEntries),
          .merged = static_cast<int32_t>(merged_rows_.size())};
}

}  // namespace reprise::kernels::cuda
