// An array in device memory, for tests: made of host values, and read back as host values. The
// device is the emulator, or a real device if the toolkit's headers come first in the include path.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace cuda_on_cpu {

template <typename T>
class DeviceArray {
 public:
  // Unwritten: under the emulator every byte is 0xff.
  explicit DeviceArray(size_t count) : count_(count) {
    REPRISE_CHECK(cudaMalloc(&data_, count * sizeof(T)) == cudaSuccess);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    REPRISE_CHECK(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) ==
                  cudaSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> host(count_);
    REPRISE_CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) ==
                  cudaSuccess);
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// Numbers of any dtype in device memory, f32 on the host.
class DeviceNumbers {
 public:
  DeviceNumbers(size_t count, reprise::DType dtype)
      : dtype_(dtype), count_(count), bytes_(count * reprise::size_of(dtype)) {}
  DeviceNumbers(const std::vector<float>& values, reprise::DType dtype)
      : dtype_(dtype), count_(values.size()), bytes_(converted(values, dtype)) {}

  [[nodiscard]] void* data() const { return bytes_.data(); }
  [[nodiscard]] std::vector<float> values() const {
    const std::vector<uint8_t> bytes = bytes_.values();
    std::vector<float> numbers(count_);
    reprise::convert(bytes.data(), dtype_, numbers.data(), reprise::DType::kF32, count_);
    return numbers;
  }

 private:
  static std::vector<uint8_t> converted(const std::vector<float>& values, reprise::DType dtype) {
    std::vector<uint8_t> bytes(values.size() * reprise::size_of(dtype));
    reprise::convert(values.data(), reprise::DType::kF32, bytes.data(), dtype, values.size());
    return bytes;
  }

  reprise::DType dtype_;
  size_t count_;
  DeviceArray<uint8_t> bytes_;
};

// True if wgmma can run here: in the emulator, or on a device of compute capability 9.0 with code
// compiled for it.
inline bool device_has_warpgroups() {
#ifdef REPRISE_CUDA_ON_CPU
  return true;
#elif defined(REPRISE_CUDA_SM90A)
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
         major == 9;
#else
  return false;
#endif
}

}  // namespace cuda_on_cpu
