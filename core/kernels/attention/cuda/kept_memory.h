// Device memory that is kept from step to step.
#pragma once

#include <cstddef>
#include <utility>

#include "core/device/device_runtime.h"

namespace reprise::kernels::cuda {

// Memory from the runtime's pool, within the pool's budget. The runtime must outlive this object.
class KeptMemory {
 public:
  explicit KeptMemory(DeviceRuntime& runtime) : runtime_(runtime) {}
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory() { release(); }

  // Makes room for at least `bytes` bytes; growing discards the content. Throws what
  // DeviceRuntime::allocate() throws.
  void reserve(size_t bytes) {
    if (bytes <= bytes_) return;
    release();
    data_ = runtime_.allocate(bytes);
    bytes_ = bytes;
  }

  [[nodiscard]] void* data() const { return data_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void release() noexcept {
    if (data_ != nullptr) runtime_.release(std::exchange(data_, nullptr), bytes_);
    bytes_ = 0;
  }

  DeviceRuntime& runtime_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace reprise::kernels::cuda
