// Device memory for the duration of a call.
#pragma once

#include <cstddef>
#include <span>

#include "core/device/device_runtime.h"

namespace reprise::kernels::cuda {

// Device memory that the destructor gives back. Later work may use it at once, because the device
// runs its work in order.
template <typename T>
class Scratch {
 public:
  Scratch(DeviceRuntime& device, size_t count)
      : device_(device),
        bytes_(count * sizeof(T)),
        data_(static_cast<T*>(device.allocate(bytes_))) {}
  Scratch(DeviceRuntime& device, std::span<const T> values) : Scratch(device, values.size()) {
    device.copy_in(data_, values.data(), values.size_bytes());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { device_.release(data_, bytes_); }
  [[nodiscard]] T* data() const { return data_; }

 private:
  DeviceRuntime& device_;
  size_t bytes_;
  T* data_;
};

}  // namespace reprise::kernels::cuda
