#include "core/device/cuda/graphs.h"

#include <algorithm>

#include "core/device/cuda/check.h"

namespace reprise::cuda {

Graphs::~Graphs() {
  // A failure here is ignored: another call reports its cause.
  for (const auto& [key, known] : known_)
    if (known.graph != nullptr) static_cast<void>(cudaGraphExecDestroy(known.graph));
}

void Graphs::run(const WorkKey& key, const std::function<void()>& work) {
  const auto [found, is_new] = known_.try_emplace(key);
  Known& known = found->second;
  known.last_use = ++uses_;
  if (is_new) {
    if (known_.size() > kMost) forget_oldest();
    try {
      return work();
    } catch (...) {
      known_.erase(key);  // else the next call would record, and libraries could not allocate
      throw;
    }
  }
  if (known.graph == nullptr) known.graph = record(work);
  ++replays_;
  check_cuda(cudaGraphLaunch(known.graph, stream_), "cudaGraphLaunch");
}

cudaGraphExec_t Graphs::record(const std::function<void()>& work) {
  // Thread-local capture lets other threads call CUDA meanwhile, for example to copy on another
  // device.
  check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  is_recording_ = true;
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    is_recording_ = false;
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  is_recording_ = false;
  check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&ready, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check_cuda(code, "cudaGraphInstantiate");
  ++recordings_;
  return ready;
}

void Graphs::forget_oldest() {
  const auto oldest = std::min_element(
      known_.begin(), known_.end(),
      [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
  // The device may still run the graph; the runtime keeps it until it is done.
  if (oldest->second.graph != nullptr)
    check_cuda(cudaGraphExecDestroy(oldest->second.graph), "cudaGraphExecDestroy");
  known_.erase(oldest);
}

}  // namespace reprise::cuda
