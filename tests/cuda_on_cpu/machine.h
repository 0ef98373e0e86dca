// The machine that the emulated runtime API presents: tests set its properties, and check at the
// end what is still alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/cuda_on_cpu/runtime_api.h"

namespace cuda_on_cpu {

struct Machine {
  int devices = 1;
  int major = 9, minor = 0;  // compute capability
  int driver_version = 13000;
  size_t memory_bytes = size_t{1} << 30;
  int l2_bytes = 1 << 20;
  bool refuses_page_locks = false;  // cudaHostRegister fails, as under a limit on locked memory
};
// The emulated machine of this process. Tests restore what they change.
Machine& machine();

// Number of live objects of each kind; all 0 when everything was released.
struct Alive {
  int64_t buffers = 0, host_buffers = 0, streams = 0, events = 0, graphs = 0;
  friend bool operator==(const Alive&, const Alive&) = default;
};
Alive alive();
Alive alive_handles();  // alive() without host and device buffers

// Gives `work` to the stream, which runs it when somebody waits for the stream. A stream that
// captures records it instead. The default stream runs it at once.
void run_in(cudaStream_t stream, std::function<void()> work);

// Called by work that stands for a library's kernel: records that the kernel has written these
// bytes.
void library_wrote(const void* to, size_t bytes);

}  // namespace cuda_on_cpu
