// What a device other than the CPU offers: its memory, copies to and from it, and its operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/device/device.h"

namespace reprise {

// A step's work as it is recognized when it comes again: see run_repeatedly().
using WorkKey = std::vector<uint64_t>;
inline void append_address(WorkKey& key, const void* address) {
  key.push_back(reinterpret_cast<uint64_t>(address));
}

// The operations that a device computes. A runtime hands them on to code that knows them, which
// derives its list of operations from this class.
class DeviceOperations {
 public:
  DeviceOperations() = default;
  virtual ~DeviceOperations() = default;
  DeviceOperations(const DeviceOperations&) = delete;
  DeviceOperations& operator=(const DeviceOperations&) = delete;
};

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
  [[nodiscard]] virtual DeviceHandle handle() const = 0;
  // Does work(), in which a library is called that computes in this device's memory, on handle()'s
  // stream where it has one.
  virtual void call_library(const std::function<void()>& work) = 0;

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
  // `rows` pieces of `row_bytes`, which begin `to_step` and `from_step` bytes apart, from one place
  // of the device's memory to another one that does not overlap it.
  virtual void copy_within(void* to, size_t to_step, const void* from, size_t from_step,
                           size_t row_bytes, size_t rows) = 0;
  virtual void synchronize() = 0;

  // Copies from the host that go beside the device's work, not in its order. They are done in the
  // order in which they are given; what they write to is read and released by work that was given
  // behind await_side_copies() alone.
  //
  // Those given from here on begin when the work given so far is done, which may still use the
  // memory that they write to.
  virtual void begin_side_copies() = 0;
  // Of memory in a HostLock the host's bytes stay as they are until the copy is done, and the call
  // returns at once; of other memory they may be changed when the call returns.
  virtual void copy_in_beside(void* to, const void* host, size_t bytes) = 0;
  // Work that is given from here on begins when the side copies given so far are done.
  virtual void await_side_copies() = 0;

  // Whether the device may now copy from these bytes by itself, beside the host's work; if not
  // (the system refuses, or another lock has some of them), copies take the detour of other memory.
  // Thread-safe, both.
  [[nodiscard]] virtual bool lock_host(const void* data, size_t bytes) = 0;
  // What lock_host() locked; no copy of it is under way.
  virtual void unlock_host(const void* data) noexcept = 0;

  // Does work(), which is given to the device at once from the third time on that a key comes.
  // `work` makes the same calls with the same arguments whenever it is called for a key, for as
  // long as this lives, and none that allocates, copies from or to the host, or waits.
  virtual void run_repeatedly(const WorkKey& key, const std::function<void()>& work) = 0;

  [[nodiscard]] virtual DeviceOperations& operations() = 0;
};

// Locks memory of the host for copies to a device, for as long as it lives. Move-only.
class HostLock {
 public:
  HostLock() = default;
  // Nothing is locked where `runtime` is null or the system refuses.
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

  std::shared_ptr<DeviceRuntime> runtime_;  // null: nothing is locked
  const void* data_ = nullptr;
};

}  // namespace reprise
