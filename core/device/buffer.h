// Owned memory for tensors: aligned for SIMD, and on huge pages if it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/device/device.h"
#include "core/device/device_runtime.h"

namespace reprise {

// A move-only block of zeroed bytes, aligned to 64 bytes. A block of at least kHugePageBytes is a
// mapping of its own, aligned to 2 MiB and advised to use huge pages. (Decode streams weights and
// caches; with pages of 4 KiB, TLB misses would cost bandwidth.) Throws MemoryError, which names
// the block's size and the available memory, if the system refuses.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] void* data() { return data_; }
  [[nodiscard]] const void* data() const { return data_; }

  template <typename T>
  [[nodiscard]] T* as() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  [[nodiscard]] std::span<T> span() {
    return {as<T>(), bytes_ / sizeof(T)};
  }

  // live_bytes(): bytes that all buffers of this process hold now. peak_bytes(): the most they held
  // at once since the last reset_peak().
  static int64_t live_bytes();
  static int64_t peak_bytes();
  static void reset_peak();

 private:
  void release() noexcept;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  size_t mapped_bytes_ = 0;  // 0 if the C allocator gave the memory
};

// Memory of any device; move-only, zero-filled. data() is an address on that device; the host may
// read it only if the device is the CPU. The constructor throws what AlignedBuffer (CPU) or
// DeviceRuntime::allocate() throws.
class Buffer {
 public:
  Buffer() = default;
  // Allocates memory of the runtime's device, or of the CPU if `runtime` is null.
  Buffer(std::shared_ptr<DeviceRuntime> runtime, size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  [[nodiscard]] Device device() const {
    return runtime_ != nullptr ? runtime_->device() : Device::kCpu;
  }
  [[nodiscard]] size_t bytes() const { return runtime_ != nullptr ? bytes_ : host_.bytes(); }
  [[nodiscard]] bool empty() const { return bytes() == 0; }
  [[nodiscard]] void* data() { return runtime_ != nullptr ? data_ : host_.data(); }
  [[nodiscard]] const void* data() const { return runtime_ != nullptr ? data_ : host_.data(); }
  template <typename T>
  [[nodiscard]] T* as() {
    return static_cast<T*>(data());
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return static_cast<const T*>(data());
  }

  // Copies bytes of the host to bytes [first, first + bytes) of the buffer. The host's bytes may be
  // changed when the call returns.
  void write(size_t first, const void* host, size_t bytes);

 private:
  AlignedBuffer host_;
  std::shared_ptr<DeviceRuntime> runtime_;  // null for memory of the CPU; else owns data_
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace reprise
