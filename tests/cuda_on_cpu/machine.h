// The machine that the runtime API pretends: what tests set, and what they ask for at the end.
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
  bool refuses_page_locks = false;  // cudaHostRegister fails, as with a limit of the system
};
// The emulated machine of this process. Tests restore what they change.
Machine& machine();

// Number of live objects of each kind; all 0 when everything was released.
struct Alive {
  int64_t buffers = 0, host_buffers = 0, streams = 0, events = 0, graphs = 0;
  friend bool operator==(const Alive&, const Alive&) = default;
};
Alive alive();
Alive alive_handles();  // counts without memory

// Gives `work` to the stream, which does it when somebody waits for it, or records it where it
// captures; the default stream does it at once.
void run_in(cudaStream_t stream, std::function<void()> work);

// The work that runs stands for a kernel of a library, and has written there.
void library_wrote(const void* to, size_t bytes);

}  // namespace cuda_on_cpu
