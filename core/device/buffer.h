// Owned memory for tensors: aligned for SIMD, on huge pages where it is large enough to profit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/device/device.h"
#include "core/device/device_runtime.h"

namespace reprise {

// A move-only block of bytes, aligned to 64 bytes; from kHugePageBytes on it is mapped on its own,
// aligned to 2 MiB and advised to be backed by huge pages (decode streams weights and caches: with
// 4 KiB pages TLB misses cost bandwidth). The bytes are zero. Throws Error with size and available
// memory when the system refuses.
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

  // Bytes held by all buffers of this process now, and the most since the last reset.
  static int64_t live_bytes();
  static int64_t peak_bytes();
  static void reset_peak();

 private:
  void release() noexcept;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  size_t mapped_bytes_ = 0;  // 0: from the C allocator
};

// Memory of any device; move-only, zero-filled. data() of another device than the CPU's is an
// address there. Throws Error as AlignedBuffer and DeviceRuntime::allocate() do.
class Buffer {
 public:
  Buffer() = default;
  // Of the runtime's device; of the CPU where it is null.
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

  // The bytes from `first` on become those of the host, which may be changed when the call returns.
  void write(size_t first, const void* host, size_t bytes);

 private:
  AlignedBuffer host_;
  std::shared_ptr<DeviceRuntime> runtime_;  // of what follows
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace reprise
