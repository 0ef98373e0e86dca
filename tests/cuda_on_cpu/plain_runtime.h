// Device memory without a pool, for tests of code that allocates. Each piece is an allocation of
// its own, so that the emulator sees accesses behind its end, and is uninitialized, so that the
// emulator sees what is read before it is written.
#pragma once

#include <cuda_runtime.h>

#include <cstdlib>

#include "core/base/error.h"
#include "core/device/device_runtime.h"

namespace cuda_on_cpu {

// Supports only memory and copies to it.
class PlainRuntime final : public reprise::DeviceRuntime {
 public:
  [[nodiscard]] reprise::Device device() const override { return reprise::Device::kCuda; }
  [[nodiscard]] void* allocate(size_t bytes) override {
    if (is_full) reprise::raise("the device has not {} bytes more", bytes);
    void* data = nullptr;
    REPRISE_CHECK(cudaMalloc(&data, bytes) == cudaSuccess);
    return data;
  }
  void release(void* data, size_t) noexcept override { cudaFree(data); }
  void copy_in(void* to, const void* host, size_t bytes) override {
    REPRISE_CHECK(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess);
  }

  [[nodiscard]] std::string description() const override { unused(); }
  [[nodiscard]] int64_t available_bytes() const override { unused(); }
  [[nodiscard]] reprise::DeviceHandle handle() const override { unused(); }
  void call_library(const std::function<void()>&) override { unused(); }
  void copy_out(void*, const void*, size_t) override { unused(); }
  void copy_within(void*, size_t, const void*, size_t, size_t, size_t) override { unused(); }
  void synchronize() override { unused(); }
  void begin_side_copies() override { unused(); }
  void copy_in_beside(void*, const void*, size_t) override { unused(); }
  void await_side_copies() override { unused(); }
  [[nodiscard]] bool lock_host(const void*, size_t) override { unused(); }
  void unlock_host(const void*) noexcept override { std::abort(); }
  void run_repeatedly(const reprise::WorkKey&, const std::function<void()>&) override { unused(); }
  [[nodiscard]] reprise::DeviceOperations& operations() override { unused(); }

  bool is_full = false;

 private:
  [[noreturn]] static void unused() { reprise::raise("only memory and copies to it are here"); }
};

}  // namespace cuda_on_cpu
