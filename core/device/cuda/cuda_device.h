// A CUDA device: its stream, memory, staging and graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/device/cuda/graphs.h"
#include "core/device/cuda/memory_pool.h"
#include "core/device/cuda/staging.h"
#include "core/device/cuda/stream.h"
#include "core/device/device_runtime.h"

namespace reprise::cuda {

struct DeviceFacts {
  std::string name;  // as the driver names it: "NVIDIA H100 80GB HBM3"
  int ordinal = 0;
  int major = 0, minor = 0;  // compute capability
  int sms = 0;
  int64_t memory_bytes = 0;
};

// Facts of device `ordinal`. Throws Error with the remedy if there is no device at all or none with
// this ordinal, if the driver is older than the toolkit that this program was built with, or if the
// device's compute capability is below 8.0.
DeviceFacts require_cuda_device(int ordinal);

struct CudaOptions {
  int ordinal = 0;           // index among the devices that CUDA_VISIBLE_DEVICES leaves
  int64_t budget_bytes = 0;  // most memory to take on the device; 0: no limit
};

// Implements all of DeviceRuntime except operations(), which a derived class in core/kernels
// implements.
class CudaDevice : public DeviceRuntime {
 public:
  explicit CudaDevice(const CudaOptions& options);
  ~CudaDevice() override;

  [[nodiscard]] Device device() const final { return Device::kCuda; }
  [[nodiscard]] std::string description() const final;
  [[nodiscard]] DeviceHandle handle() const final;
  void call_library(const std::function<void()>& work) final;
  [[nodiscard]] void* allocate(size_t bytes) final;
  void release(void* data, size_t bytes) noexcept final;
  [[nodiscard]] int64_t available_bytes() const final { return memory_.available_bytes(); }
  void copy_in(void* to, const void* host, size_t bytes) final;
  void copy_out(void* host, const void* from, size_t bytes) final;
  void copy_within(void* to, size_t to_step, const void* from, size_t from_step, size_t row_bytes,
                   size_t rows) final;
  void synchronize() final { stream_.synchronize(); }
  void begin_side_copies() final;
  void copy_in_beside(void* to, const void* host, size_t bytes) final;
  void await_side_copies() final;
  [[nodiscard]] bool lock_host(const void* data, size_t bytes) final;
  void unlock_host(const void* data) noexcept final;
  void run_repeatedly(const WorkKey& key, const std::function<void()>& work) final {
    graphs_.run(key, work);
  }

  [[nodiscard]] const DeviceFacts& facts() const { return facts_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] const MemoryPool& memory() const { return memory_; }
  [[nodiscard]] const Graphs& graphs() const { return graphs_; }

 private:
  // Stream, staging memory and events of the side copies, made at the first side copy.
  struct Side {
    Stream stream;
    Staging staging;
    Event begin, end;
  };

  void require_no_recording(const char* what) const;
  Side& side();

  DeviceFacts facts_;  // first, because it checks that the device exists
  MemoryPool memory_;
  Stream stream_;
  Staging staging_;
  Graphs graphs_;
  std::unique_ptr<Side> side_;
  std::mutex locks_mutex_;
  std::map<const std::byte*, size_t> locks_;  // locked ranges of host memory: begin, bytes
};

}  // namespace reprise::cuda
