// Attention of a step on a device: the schedule and the partial results that all layers share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "core/kernels/attention/cuda/kept_memory.h"
#include "core/kernels/attention/cuda/schedule.h"

namespace reprise::kernels::cuda {

// Each function runs the tasks of one launch on a device of `sms` SMs, over caches of one dtype
// (bf16 or f16). Each has a source file of its own. Throws Error if the kernel cannot start.
void launch_bf16_tiles(const AttentionCall& call, const StepMaps& maps, const TileLaunch& tiles,
                       int64_t head_dim, int32_t sms, cudaStream_t stream);
void launch_f16_tiles(const AttentionCall& call, const StepMaps& maps, const TileLaunch& tiles,
                      int64_t head_dim, int32_t sms, cudaStream_t stream);

// Query rows of one layer in device memory, after rotary embedding.
struct DeviceQueries {
  const void* data = nullptr;  // element (row, head, c) at row * row_stride + head * head_dim + c
  DType dtype = DType::kF32;   // any; q is rounded to the cache's dtype
  int64_t row_stride = 0;      // elements, a multiple of 8; data is aligned to 16 bytes
};

struct DeviceOutput {
  void* data = nullptr;       // [rows, heads, head_dim], aligned to 8 bytes
  DType dtype = DType::kF32;  // any
};

// The attention of all steps on one device. Its memory is allocated at first use and kept, like
// that of AttentionWorkspace on the CPU.
class DeviceAttention {
 public:
  // Takes memory from the runtime, which must outlive it.
  explicit DeviceAttention(DeviceRuntime& runtime)
      : runtime_(runtime), arrays_(runtime), o_(runtime), m_(runtime), n_(runtime) {}

  // Schedules a step and copies the parts of the step's arrays that differ from those of the
  // previous step. Throws what StepSchedule::build() and DeviceRuntime::allocate() throw.
  void begin(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
             const GpuModel& gpu, RowResults results = RowResults::kFinished,
             const TileOverride& wanted = {});

  // Computes out = softmax(scale * q k^T + bias + mask) v for one layer of the step, like
  // kernels::attention(). `stream` must be the stream on which the runtime copies.
  void run(int64_t layer, const DeviceQueries& q, const DeviceOutput& out, cudaStream_t stream);

  // The two halves of run() as separate kernels. run_parts() writes rows with a single part to
  // `out` and leaves partial results of all other rows, laid out as in kernels::Partials;
  // merge_parts() merges these.
  void run_parts(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                 cudaStream_t stream);
  void merge_parts(const DeviceOutput& out, cudaStream_t stream);

  [[nodiscard]] const StepSchedule& schedule() const { return schedule_; }
  // [rows] row slots of the step's plan, in device memory.
  [[nodiscard]] const int64_t* row_slots() const { return image_.row_slots(arrays_.data()); }
  // Appends to `key` what the launches of run() depend on besides run()'s arguments: shapes,
  // numbers of blocks and addresses. Steps with equal keys launch the same kernels, even if the
  // contents of their arrays differ.
  void append_key(std::vector<uint64_t>& key) const;

 private:
  // `arrivals` as in AttentionCall.
  void launch_tasks(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                    unsigned* arrivals, cudaStream_t stream);

  DeviceRuntime& runtime_;
  StepSchedule schedule_;
  ScheduleImage image_;
  StepMaps maps_;  // none unless a launch is by_tensor_maps
  int64_t head_dim_ = 0;
  int32_t sms_ = 0;
  KeptMemory arrays_, o_, m_, n_;
};

}  // namespace reprise::kernels::cuda
