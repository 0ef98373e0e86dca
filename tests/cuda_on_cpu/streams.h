// Streams, events and graphs of the runtime API: queues of work that nothing hurries.
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

// Runs a stream's pending work, and in random order some of other streams beside it. Only calls
// that wait for the work run it, so that code which forgets to wait, or changes the source of a
// pending copy, is found out.
void drain(cudaStream_t stream);
void drain_all();

// The handle, if it is alive; else Fault (kCall) naming the call.
void require_alive(cudaStream_t stream, const char* call);
// Fault (kCall) while any stream captures.
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
  bool is_in_work = false;                   // its next work must wait
  std::unique_ptr<CudaOnCpuGraph> captured;  // while it captures
};

struct CudaOnCpuEvent {
  using Clock = std::chrono::steady_clock;
  bool has_time = false;
  // The moment that was recorded last: of a stream that has not come to it yet, or a time.
  struct Moment {
    cudaStream_t stream = nullptr;
    std::optional<Clock::time_point> time;
  };
  std::shared_ptr<Moment> moment;  // none before the first record
};
