#include "tests/cuda_on_cpu/streams.h"

#include <fmt/core.h>

#include <utility>

#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/fault.h"
#include "tests/cuda_on_cpu/machine.h"
#include "tests/cuda_on_cpu/order.h"

namespace cuda_on_cpu {
namespace {

// The live handles of all kinds, which tests count.
struct Handles {
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> ready_graphs;
};
Handles& handles() {
  static Handles handles;
  return handles;
}

[[noreturn]] void refuse(const char* call, const char* why) {
  throw Fault(FaultKind::kCall, fmt::format("{}: {}: {}", name_of(FaultKind::kCall), call, why));
}

template <typename Handle>
void require(const std::set<Handle>& known, Handle handle, const char* call) {
  if (!known.contains(handle)) refuse(call, "it was never made, or is destroyed");
}

bool is_capturing(cudaStream_t stream) { return stream != nullptr && stream->captured != nullptr; }

void run_next(cudaStream_t stream) {
  Work work = std::move(stream->pending.front());
  stream->pending.pop_front();
  stream->is_in_work = true;
  work();  // a wait runs work of another stream
  stream->is_in_work = false;
}

// In the random order, runs some work of other streams, because a device may do that work at any
// time after it was enqueued.
void run_some_beside(cudaStream_t stream) {
  for (const cudaStream_t other : handles().streams)
    while (other != stream && !other->is_in_work && !other->pending.empty() && draws_work_beside())
      run_next(other);
}

// Runs the stream's work until the event is reached.
void drain_to(const CudaOnCpuEvent::Moment& moment) {
  const auto is_to_come = [&] {
    return !moment.time.has_value() && moment.stream != nullptr && !moment.stream->pending.empty();
  };
  while (is_to_come()) {
    run_some_beside(moment.stream);
    if (is_to_come()) run_next(moment.stream);
  }
  finish_launches();
}

}  // namespace

void require_alive(cudaStream_t stream, const char* call) {
  if (stream != nullptr) require(handles().streams, stream, call);
}

void require_no_capture(const char* call) {
  for (const cudaStream_t stream : handles().streams)
    if (is_capturing(stream)) refuse(call, "a stream captures a graph");
}

void drain(cudaStream_t stream) {
  if (stream == nullptr) return;
  try {
    while (!stream->pending.empty()) {
      run_some_beside(stream);
      if (!stream->pending.empty()) run_next(stream);
    }
  } catch (...) {
    stream->pending.clear();  // work after a fault is not run
    throw;
  }
  finish_launches();
}

void drain_all() {
  for (const cudaStream_t stream : handles().streams) drain(stream);
}

void run_in(cudaStream_t stream, std::function<void()> work) {
  require_alive(stream, "work in a stream");
  if (stream == nullptr) return work();
  if (is_capturing(stream)) {
    stream->captured->work.push_back(std::move(work));
  } else {
    stream->pending.push_back(std::move(work));
  }
}

Alive alive_handles() {
  const Handles& all = handles();
  return {.streams = std::ssize(all.streams),
          .events = std::ssize(all.events),
          .graphs = std::ssize(all.graphs) + std::ssize(all.ready_graphs)};
}

}  // namespace cuda_on_cpu

using namespace cuda_on_cpu;  // NOLINT: the API's functions are global, and theirs alone

cudaError_t cudaDeviceSynchronize() {
  require_no_capture("cudaDeviceSynchronize");
  drain_all();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CudaOnCpuStream;
  handles().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  require(handles().streams, stream, "cudaStreamDestroy");
  drain(stream);
  handles().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  require_alive(stream, "cudaStreamSynchronize");
  if (is_capturing(stream)) refuse("cudaStreamSynchronize", "the stream captures a graph");
  drain(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  require(handles().events, event, "cudaStreamWaitEvent");
  if (event->moment != nullptr) run_in(stream, [moment = event->moment] { drain_to(*moment); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CudaOnCpuEvent{.has_time = (flags & cudaEventDisableTiming) == 0, .moment = nullptr};
  handles().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  require(handles().events, event, "cudaEventDestroy");
  handles().events.erase(event);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  require(handles().events, event, "cudaEventRecord");
  if (is_capturing(stream)) refuse("cudaEventRecord", "the stream captures a graph");
  event->moment = std::make_shared<CudaOnCpuEvent::Moment>();
  event->moment->stream = stream;
  run_in(stream, [moment = event->moment] { moment->time = CudaOnCpuEvent::Clock::now(); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  require(handles().events, event, "cudaEventQuery");
  const bool has_come = event->moment == nullptr || event->moment->time.has_value();
  return has_come ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  require(handles().events, event, "cudaEventSynchronize");
  if (event->moment != nullptr) drain_to(*event->moment);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  for (const cudaEvent_t event : {begin, end}) {
    require(handles().events, event, "cudaEventElapsedTime");
    if (!event->has_time || event->moment == nullptr) return cudaErrorInvalidValue;
    if (!event->moment->time.has_value()) return cudaErrorNotReady;
  }
  *ms = std::chrono::duration<float, std::milli>(*end->moment->time - *begin->moment->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  require(handles().streams, stream, "cudaStreamBeginCapture");
  if (is_capturing(stream)) return cudaErrorInvalidValue;
  stream->captured = std::make_unique<CudaOnCpuGraph>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  require(handles().streams, stream, "cudaStreamEndCapture");
  if (!is_capturing(stream)) return cudaErrorInvalidValue;
  *graph = stream->captured.release();
  handles().graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  require(handles().graphs, graph, "cudaGraphInstantiate");
  *ready = new CudaOnCpuGraphExec{graph->work};
  handles().ready_graphs.insert(*ready);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
  require(handles().ready_graphs, ready, "cudaGraphLaunch");
  for (const Work& work : ready->work) run_in(stream, work);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  require(handles().graphs, graph, "cudaGraphDestroy");
  handles().graphs.erase(graph);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
  require(handles().ready_graphs, ready, "cudaGraphExecDestroy");
  handles().ready_graphs.erase(ready);
  delete ready;
  return cudaSuccess;
}
