// Streams, events and graphs of the runtime API: queues of work that run as late as allowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/cuda_on_cpu/runtime_api.h"

namespace cuda_on_cpu {

using Work = std::function<void()>;

// Runs a stream's pending work, and, in the random order, some work of other streams in between.
// Only calls that wait for the work run it. This exposes code that forgets to wait, or that changes
// the source of a pending copy.
void drain(cudaStream_t stream);
void drain_all();

// Throws Fault (kCall) with the name of the call if the handle is not alive.
void require_alive(cudaStream_t stream, const char* call);
// Throws Fault (kCall) while any stream captures.
void require_no_capture(const char* call);

}  // namespace cuda_on_cpu

struct CudaOnCpuGraph {
  std::vector<cuda_on_cpu::Work> work;
};

struct CudaOnCpuGraphExec {
  std::vector<cuda_on_cpu::Work> work;
};

struct CudaOnCpuStream {
  std::deque<cuda_on_cpu::Work> pending;
  bool is_in_work = false;                   // while its work runs: its next work must wait
  std::unique_ptr<CudaOnCpuGraph> captured;  // while it captures
};

struct CudaOnCpuEvent {
  using Clock = std::chrono::steady_clock;
  bool has_time = false;
  // The last recording of the event: a stream that has not yet come to it, or the time when the
  // stream came to it.
  struct Moment {
    cudaStream_t stream = nullptr;
    std::optional<Clock::time_point> time;
  };
  std::shared_ptr<Moment> moment;  // none before the first record
};
