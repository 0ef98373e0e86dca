// Work that comes again step after step, given to the device in one piece: CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>

#include "core/device/device_runtime.h"

namespace reprise::cuda {

// A decode step of a model is some hundreds of kernels of a few microseconds each, which a host
// hardly starts as fast as a device runs them. Steps of the same shape are the same launches with
// the same arguments, as long as what changes (tokens, positions, the schedule's arrays) lies in
// memory that was copied to before. A key names all that goes into them; what else comes has
// another key. Graphs are kept for the kMost keys that came last.
class Graphs {
 public:
  explicit Graphs(cudaStream_t stream) : stream_(stream) {}
  ~Graphs();
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  // See DeviceRuntime::run_repeatedly(). The first time of a key is a plain run, in which libraries
  // may allocate; the second one records while it runs nothing, and starts what was recorded.
  void run(const WorkKey& key, const std::function<void()>& work);

  // Whether work() is being recorded.
  [[nodiscard]] bool is_recording() const { return is_recording_; }

  // For reports and tests.
  [[nodiscard]] int64_t plain_runs() const { return plain_runs_; }
  [[nodiscard]] int64_t recordings() const { return recordings_; }
  [[nodiscard]] int64_t replays() const { return replays_; }
  [[nodiscard]] size_t kept() const { return known_.size(); }

  static constexpr size_t kMost = 64;

 private:
  struct Known {
    cudaGraphExec_t graph = nullptr;  // null: came once, in a plain run
    int64_t last_use = 0;
  };
  [[nodiscard]] cudaGraphExec_t record(const std::function<void()>& work);
  void forget_oldest();

  cudaStream_t stream_;
  std::map<WorkKey, Known> known_;
  int64_t uses_ = 0, plain_runs_ = 0, recordings_ = 0, replays_ = 0;
  bool is_recording_ = false;
};

}  // namespace reprise::cuda
