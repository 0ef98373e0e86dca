// What a device other than the CPU offers: its memory, copies to and from it, and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device/device.h"

namespace reprise {

namespace kernels {
class DeviceKernels;  // the operations themselves: core/kernels/device_kernels.h
}

// A step's work as it is recognized when it comes again: see run_repeatedly().
using WorkKey = std::vector<uint64_t>;

// One device. All work is done in the order in which it is given; calls return before it is done,
// except where they say otherwise. Used by one thread at a time. Every call throws Error, naming
// what the device said, where that fails; a kernel's fault may come with any later call.
class DeviceRuntime {
 public:
  DeviceRuntime() = default;
  virtual ~DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  [[nodiscard]] virtual Device device() const = 0;

  // Memory of zeros, aligned to 256 bytes; 0 bytes are null. Throws MemoryError with need and have
  // where it does not fit.
  [[nodiscard]] virtual void* allocate(size_t bytes) = 0;
  // `data` and `bytes` of an allocate(). Work that was given before may still use it.
  virtual void release(void* data, size_t bytes) noexcept = 0;
  // What allocate() could give in all.
  [[nodiscard]] virtual int64_t available_bytes() const = 0;

  // From the host to the device. The host's bytes may be changed when the call returns.
  virtual void copy_in(void* to, const void* host, size_t bytes) = 0;
  // From the device to the host, which has the bytes when the call returns: it waits for all work
  // that was given before.
  virtual void copy_out(void* host, const void* from, size_t bytes) = 0;
  virtual void synchronize() = 0;

  // Does work(), which is given to the device at once from the third time on that a key comes.
  // `work` makes the same calls with the same arguments whenever it is called for a key, and none
  // that allocates, copies from or to the host, or waits.
  virtual void run_repeatedly(const WorkKey& key, const std::function<void()>& work) = 0;

  [[nodiscard]] virtual kernels::DeviceKernels& kernels() = 0;
};

}  // namespace reprise
