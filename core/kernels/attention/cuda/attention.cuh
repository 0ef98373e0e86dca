// Attention of a step on a device: the schedule and the partial results that its layers share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "core/kernels/attention/cuda/kept_memory.h"
#include "core/kernels/attention/cuda/schedule.h"

namespace reprise::kernels::cuda {

// Runs the tasks of one launch, over caches of one type; a source each. Throws Error where it
// cannot start.
void launch_bf16_tiles(const AttentionCall& call, const TileLaunch& tiles, int64_t head_dim,
                       cudaStream_t stream);
void launch_f16_tiles(const AttentionCall& call, const TileLaunch& tiles, int64_t head_dim,
                      cudaStream_t stream);

// Query rows of one layer on the device, after rotary embedding.
struct DeviceQueries {
  const void* data = nullptr;  // element (row, head, c) at row * row_stride + head * head_dim + c
  DType dtype = DType::kF32;   // any; multiplied in the cache's type
  int64_t row_stride = 0;      // elements, a multiple of 8; data is aligned to 16 bytes
};

struct DeviceOutput {
  void* data = nullptr;       // [rows, heads, head_dim], aligned to 8 bytes
  DType dtype = DType::kF32;  // any
};

// Like AttentionWorkspace on the CPU: made once, grown on first use and then kept.
class DeviceAttention {
 public:
  // Its memory is the runtime's, which outlives it.
  explicit DeviceAttention(DeviceRuntime& runtime)
      : runtime_(runtime), arrays_(runtime), o_(runtime), m_(runtime), n_(runtime) {}

  // Schedules a step and copies what of its arrays differs from the step before. Throws as
  // StepSchedule::build() and DeviceRuntime::allocate().
  void begin(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
             const GpuModel& gpu, RowResults results = RowResults::kFinished,
             const TileOverride& wanted = {});

  // out = softmax(scale * q k^T + bias + mask) v for one layer of the step, as
  // kernels::attention(). The stream is the one of the runtime's copies.
  void run(int64_t layer, const DeviceQueries& q, const DeviceOutput& out, cudaStream_t stream);

  // The two halves of it. The first finishes the rows that one part computes whole and leaves
  // partial results of the others, laid out as kernels::Partials; the second merges these.
  void run_parts(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                 cudaStream_t stream);
  void merge_parts(const DeviceOutput& out, cudaStream_t stream);

  [[nodiscard]] const StepSchedule& schedule() const { return schedule_; }
  // [rows]  of the step's plan, on the device
  [[nodiscard]] const int64_t* row_slots() const { return image_.row_slots(arrays_.data()); }
  // Appends what the launches of run() depend on beside its arguments: shapes, numbers of blocks
  // and addresses. Steps where it is the same start the same kernels; what the arrays hold may
  // differ.
  void append_key(std::vector<uint64_t>& key) const;

 private:
  DeviceRuntime& runtime_;
  StepSchedule schedule_;
  ScheduleImage image_;
  int64_t head_dim_ = 0;
  KeptMemory arrays_, o_, m_, n_;
};

}  // namespace reprise::kernels::cuda
