// A step's attention as the device runs it: which tile computes what, and how the arrays that say
// so get to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/attention/attention_schedule.h"
#include "core/kernels/attention/cuda/attention_task.h"
#include "core/kernels/attention/cuda/schedule_upload.h"
#include "core/kernels/attention/cuda/tiles.h"

namespace reprise::kernels::cuda {

// Tasks of one tile shape and cache dtype: one launch, of a block for each task and kv head.
struct TileLaunch {
  int32_t shape = 0;  // place in kTileShapes
  DType dtype = DType::kBF16;
  int32_t first_task = 0, end_task = 0;
};

// Computed once for a step from its plan, then used by every layer.
struct StepSchedule {
  AttentionSchedule cut;             // parts and how they are merged; it has no tasks
  std::vector<AttentionTask> tasks;  // launch by launch, those of most keys first
  std::vector<TileLaunch> launches;  // in the order of kTileShapes, then of dtypes
  double estimate_us = 0.0;          // of one layer, by the cost model

  // For query rows of `heads` heads. The plan must be finished. Throws ShapeError for head sizes
  // that are not compiled or heads that do not go together, and Error for a cache of f32 or one
  // that is not aligned to 16 bytes: the kernel copies 16 bytes at a time.
  void build(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
             const GpuModel& gpu, RowResults results = RowResults::kFinished,
             const TileOverride& wanted = {});
};

// What the tiles make of the step: keys read by each lane tile anew (which L2 is taken to hold from
// the first time), whole tiles of products and exponentials, partial results written and read. The
// rest is as least_work() has it.
AttentionWork tiled_work(const StepSchedule& schedule, const kv::AttentionPlan& plan,
                         const AttentionParams& params, const WorkDtypes& dtypes = {});

// `count` with three significant bits, at most a quarter more: so many tasks and merged rows the
// device is given, those beyond the step's own with nothing to do. A sequence that grows by a part,
// or one that leaves, then seldom makes a launch another one than was recorded: see
// DeviceRuntime::run_repeatedly().
int32_t padded_count(int32_t count);

// The step's arrays in one run of device memory.
class ScheduleImage {
 public:
  // Takes the arrays over, padded; what differs from before is what changes() then names. The
  // plan's caches are named by their device addresses, as the plan has them.
  void set(const StepSchedule& schedule, const kv::AttentionPlan& plan,
           const AttentionParams& params);
  // See UploadImage.
  [[nodiscard]] UploadImage::Changes changes() { return image_.changes(); }

  // The step's part of a call, for arrays at `device` + their offsets.
  [[nodiscard]] AttentionCall call(const void* device) const;
  // The schedule's, of padded tasks.
  [[nodiscard]] std::span<const TileLaunch> launches() const { return launches_; }

  // How partial results are merged, as AttentionSchedule has it.
  struct Merge {
    const int32_t* rows = nullptr;     // [merged]; -1: none
    const int32_t* begin = nullptr;    // [merged + 1]
    const int64_t* entries = nullptr;  // of each merged row's parts, head 0
    int32_t merged = 0;                // padded
  };
  [[nodiscard]] Merge merge(const void* device) const;

  // [rows]  where the plan's rows write their keys and values
  [[nodiscard]] const int64_t* row_slots(const void* device) const {
    return at<int64_t>(device, kRowSlots);
  }

 private:
  enum Section : uint8_t {
    kTasks,
    kCaches,
    kBlockOffsets,
    kRowPositions,
    kRowSlots,
    kSlopes,
    kMergedRows,
    kMergeBegin,
    kMergeEntries,
    kSections
  };
  template <typename T>
  const T* at(const void* device, Section section) const {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(device) +
                                      image_.offset(section));
  }

  void pad_tasks(const StepSchedule& schedule);
  void pad_merged(const AttentionSchedule& cut);

  UploadImage image_{kSections};
  std::vector<DeviceCache> caches_;
  std::vector<AttentionTask> tasks_;
  std::vector<TileLaunch> launches_;
  std::vector<int32_t> merged_rows_, merge_begin_;
  AttentionCall call_;  // all but addresses
};

}  // namespace reprise::kernels::cuda
