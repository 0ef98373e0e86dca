// The interface of a device other than the CPU: its memory, copies to and from it, and its
// operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"

namespace reprise {

// Identifies work that recurs, see DeviceRuntime::run_repeatedly().
using WorkKey = std::vector<uint64_t>;
inline void append_address(WorkKey& key, const void* address) {
  key.push_back(reinterpret_cast<uint64_t>(address));
}

// Empty base class of kernels::DeviceKernels, which lists the operations that a device computes.
// With it a runtime can return the operations without including their header.
class DeviceOperations {
 public:
  DeviceOperations() = default;
  virtual ~DeviceOperations() = default;
  DeviceOperations(const DeviceOperations&) = delete;
  DeviceOperations& operator=(const DeviceOperations&) = delete;
};

// One device. Work is done in the order of the calls. A call returns before its work is done,
// unless its comment says otherwise. One thread at a time may use a runtime. Every call throws
// Error with the device's message if it fails; a kernel's fault may be reported by any later call.
class DeviceRuntime {
 public:
  DeviceRuntime() = default;
  virtual ~DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  [[nodiscard]] virtual Device device() const = 0;
  // Text by which results name the device: its name, compute capability, number of SMs and memory
  // in GiB, such as "NVIDIA H100 80GB HBM3 (9.0, 132 SMs, 79 GiB)". Measures nothing.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual DeviceHandle handle() const = 0;
  // Runs work(), which calls a library that computes in this device's memory. If handle() has a
  // stream, the library must use this stream.
  virtual void call_library(const std::function<void()>& work) = 0;

  // Zeroed memory, aligned to 256 bytes; null for 0 bytes. Throws MemoryError with the bytes needed
  // and available if it does not fit.
  [[nodiscard]] virtual void* allocate(size_t bytes) = 0;
  // Frees memory of allocate(); `bytes` is the size passed to allocate(). Work given before this
  // call may still use the memory.
  virtual void release(void* data, size_t bytes) noexcept = 0;
  // Bytes that allocate() could still give in all.
  [[nodiscard]] virtual int64_t available_bytes() const = 0;

  // Copies from the host to the device. The host's bytes may be changed when the call returns.
  virtual void copy_in(void* to, const void* host, size_t bytes) = 0;
  // Copies from the device to the host. Waits until the copy and all earlier work are done.
  virtual void copy_out(void* host, const void* from, size_t bytes) = 0;
  // Copies `rows` pieces of `row_bytes` bytes within the device's memory. The pieces begin
  // `to_step` bytes apart in the target and `from_step` bytes apart in the source. Target and
  // source must not overlap.
  virtual void copy_within(void* to, size_t to_step, const void* from, size_t from_step,
                           size_t row_bytes, size_t rows) = 0;
  // Waits until all work is done.
  virtual void synchronize() = 0;

  // Begins side copies: copies from the host that run, in the order given, while the device does
  // other work. They start when all work given so far is done, because that work may still use
  // their targets. Work may read or release a target only if it is given after await_side_copies().
  virtual void begin_side_copies() = 0;
  // Adds a side copy. If a HostLock covers the host's bytes, the call returns at once, and the
  // bytes must not change until the copy is done. Otherwise the bytes may be changed when the call
  // returns.
  virtual void copy_in_beside(void* to, const void* host, size_t bytes) = 0;
  // Work given from here on begins when the side copies given so far are done.
  virtual void await_side_copies() = 0;

  // Page-locks memory of the host, so that the device can copy from it beside the host's work.
  // Returns false if the system refuses or another lock covers some of the bytes; copies from this
  // memory then go through staging memory. lock_host() and unlock_host() are thread-safe.
  [[nodiscard]] virtual bool lock_host(const void* data, size_t bytes) = 0;
  // Releases a lock of lock_host(). No copy from the memory may be under way.
  virtual void unlock_host(const void* data) noexcept = 0;

  // Runs work() for a key, faster when the key recurs: a device may record the second run and
  // replay it from then on without calling work(). For one key, work() must make the same calls
  // with the same arguments every time, and must not allocate, copy from or to the host, or wait.
  virtual void run_repeatedly(const WorkKey& key, const std::function<void()>& work) = 0;

  [[nodiscard]] virtual DeviceOperations& operations() = 0;
};

// Keeps host memory page-locked for copies to a device while it lives. Move-only.
class HostLock {
 public:
  HostLock() = default;
  // Locks nothing if `runtime` is null, `bytes` is 0 or the system refuses; see holds().
  HostLock(std::shared_ptr<DeviceRuntime> runtime, const void* data, size_t bytes) {
    if (runtime == nullptr || bytes == 0 || !runtime->lock_host(data, bytes)) return;
    runtime_ = std::move(runtime);
    data_ = data;
  }
  HostLock(HostLock&& other) noexcept { swap(other); }
  HostLock& operator=(HostLock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HostLock() {
    if (runtime_ != nullptr) runtime_->unlock_host(data_);
  }
  [[nodiscard]] bool holds() const { return runtime_ != nullptr; }

 private:
  void swap(HostLock& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(data_, other.data_);
  }

  std::shared_ptr<DeviceRuntime> runtime_;  // null if nothing is locked
  const void* data_ = nullptr;
};

}  // namespace reprise
