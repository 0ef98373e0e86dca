// A step's attention as the device runs it: the tasks of each tile shape, and the copies of their
// arrays to the device.
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

// The tasks of one launch, which have the same tile shape and cache dtype. The launch has a block
// for each (task, kv head), or at most one block per SM if the shape is by_warpgroups.
struct TileLaunch {
  int32_t shape = 0;  // index in kTileShapes
  DType dtype = DType::kBF16;
  int32_t first_task = 0, end_task = 0;
};

// The schedule of a step, built once from the step's plan and used by every layer.
struct StepSchedule {
  AttentionSchedule cut;             // parts, and which entries are merged; no tasks
  std::vector<AttentionTask> tasks;  // grouped by launch, those with most keys first
  std::vector<TileLaunch> launches;  // in the order of kTileShapes, then of dtype
  double estimate_us = 0.0;          // estimated time of one layer's attention, see tiles.h
  // True if TileOverride asks for it, some row is merged, and every merged row has a part. (No
  // block would merge a row without parts, so merge_partials() must run and set the row to 0.)
  bool merges_in_last_block = false;

  // Builds the schedule for query rows of `heads` heads. The plan must be finished. Throws
  // ShapeError for head sizes that are not compiled or if heads % kv_heads != 0, and Error for a
  // cache that is f32 or not aligned to 16 bytes (the kernel copies 16 bytes at a time).
  void build(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
             const GpuModel& gpu, RowResults results = RowResults::kFinished,
             const TileOverride& wanted = {});
};

// The work of the step as it is divided into tiles. Unlike least_work(), it counts the keys that
// further lane tiles read again (assumed to be in L2), the products and exponentials of whole
// tiles, and the partial results, which are written and read.
AttentionWork tiled_work(const StepSchedule& schedule, const kv::AttentionPlan& plan,
                         const AttentionParams& params, const WorkDtypes& dtypes = {});

// Returns `count` rounded up to three significant bits, at most a quarter more. The device gets a
// padded number of tasks and of merged rows; the additional ones do nothing. So a recorded launch
// seldom changes when a sequence grows by a part or ends, see DeviceRuntime::run_repeatedly().
int32_t padded_count(int32_t count);

// The step's arrays, in one run of device memory.
class ScheduleImage {
 public:
  // Sets the arrays and pads them, see padded_count(). changes() then returns the copies that bring
  // the device up to date. The caches of `plan` must have device addresses.
  void set(const StepSchedule& schedule, const kv::AttentionPlan& plan,
           const AttentionParams& params);
  // See UploadImage.
  [[nodiscard]] UploadImage::Changes changes() { return image_.changes(); }

  // Returns the fields of a call that all layers of the step share. `device` is the address of the
  // device memory that contains the arrays.
  [[nodiscard]] AttentionCall call(const void* device) const;
  // The schedule's launches, with padded tasks.
  [[nodiscard]] std::span<const TileLaunch> launches() const { return launches_; }

  // How partial results are merged, as in AttentionSchedule.
  struct Merge {
    const int32_t* rows = nullptr;     // [merged]; -1: padding
    const int32_t* begin = nullptr;    // [merged + 1]
    const int64_t* entries = nullptr;  // entries of each merged row's parts, head 0
    int32_t merged = 0;                // number of rows, padded
  };
  [[nodiscard]] Merge merge(const void* device) const;

  // AttentionCall::arrivals; null unless the schedule merges_in_last_block.
  [[nodiscard]] unsigned* arrivals(void* device) const {
    if (arrivals_.empty()) return nullptr;
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(device) + image_.offset(kArrivals));
  }

  // [rows]  row slots of the plan.
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
    kArrivals,
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
  std::vector<unsigned> arrivals_;  // zeros; the kernels leave zeros, so they are copied only once
  AttentionCall call_;              // everything except addresses
};

}  // namespace reprise::kernels::cuda
