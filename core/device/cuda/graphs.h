// CUDA graphs: if the same work recurs in every step, one call launches all of its kernels.
//
// A decode step of a model is hundreds of kernels of a few microseconds each, which a host can
// hardly launch as fast as the device runs them. Steps of the same shape make the same launches
// with the same arguments, provided that the data that differ between steps (tokens, positions, the
// schedule's arrays) are first copied to memory at fixed addresses.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>

#include "core/device/device_runtime.h"

namespace reprise::cuda {

// Keeps the graphs of the kMost most recently used keys. A key must contain everything on which the
// launches of its work depend.
class Graphs {
 public:
  explicit Graphs(cudaStream_t stream) : stream_(stream) {}
  ~Graphs();
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  // See DeviceRuntime::run_repeatedly(). The first call of a key runs work() plainly, so that
  // libraries may allocate; the second records it as a graph and launches that; later calls launch
  // the graph.
  void run(const WorkKey& key, const std::function<void()>& work);

  // True while work() is being recorded.
  [[nodiscard]] bool is_recording() const { return is_recording_; }

  // For reports and tests.
  [[nodiscard]] int64_t recordings() const { return recordings_; }
  [[nodiscard]] int64_t replays() const { return replays_; }
  [[nodiscard]] size_t kept() const { return known_.size(); }

  static constexpr size_t kMost = 64;

 private:
  struct Known {
    cudaGraphExec_t graph = nullptr;  // null after one plain run
    int64_t last_use = 0;
  };
  [[nodiscard]] cudaGraphExec_t record(const std::function<void()>& work);
  void forget_oldest();

  cudaStream_t stream_;
  std::map<WorkKey, Known> known_;
  int64_t uses_ = 0, recordings_ = 0, replays_ = 0;
  bool is_recording_ = false;
};

}  // namespace reprise::cuda
