// Device memory that grows in the order of a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "core/base/error.h"

namespace reprise::kernels::cuda {

// Move-only; unwritten. What was there is freed behind the work that the stream has by then, so
// kernels that still read it are not waited for. The stream outlives the memory.
class StreamMemory {
 public:
  StreamMemory() = default;
  StreamMemory(StreamMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        stream_(other.stream_) {}
  StreamMemory& operator=(StreamMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~StreamMemory() { release(); }

  // At least `bytes`; what was written is lost where it had to grow. Throws Error naming the size
  // where the device has not so much left.
  void reserve(size_t bytes, cudaStream_t stream) {
    stream_ = stream;
    if (bytes <= bytes_) return;
    release();
    void* data = nullptr;
    const cudaError_t code = cudaMallocAsync(&data, bytes, stream);
    if (code != cudaSuccess)
      raise(
          "the CUDA device has no {:.3f} GiB for attention's schedule and partial results: {}; use "
          "a "
          "smaller batch, context or model",
          static_cast<double>(bytes) / 0x1p30, cudaGetErrorString(code));
    data_ = data;
    bytes_ = bytes;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void release() noexcept {
    // A failure here has a cause that another call reports.
    if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
    data_ = nullptr;
    bytes_ = 0;
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace reprise::kernels::cuda
