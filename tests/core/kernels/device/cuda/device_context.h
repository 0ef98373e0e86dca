// A context on a device, for tests that run on the emulator and on a real device.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/device/context.h"
#include "core/kernels/device/cuda/backend.h"
#include "tests/support/kernels.h"
#ifdef REPRISE_CUDA_ON_CPU
#include "tests/cuda_on_cpu/machine.h"
#endif

namespace reprise::testing {

// Opens a device for each test, which must give back everything that it took from it.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef REPRISE_CUDA_ON_CPU
    before_ = cuda_on_cpu::alive();
#endif
    open({});
  }
  void TearDown() override {
    context_.runtime = nullptr;
    EXPECT_EQ(device_->memory().used_bytes(), own_bytes_) << "something was not given back";
    device_.reset();
#ifdef REPRISE_CUDA_ON_CPU
    EXPECT_EQ(cuda_on_cpu::alive(), before_) << "something was not given back";
#endif
  }
  // Opens another device in place of the present one.
  void open(const cuda::CudaOptions& options) {
    context_.runtime = nullptr;
    device_.reset();
    device_ = kernels::cuda::open_cuda(options);
    own_bytes_ = device_->memory().used_bytes();
    context_.device = Device::kCuda;
    context_.runtime = device_;
  }
  // A tensor of the values, rounded to `dtype`, on the device.
  Tensor on_device(const std::vector<float>& values, DType dtype) {
    return tensor_of(values, dtype).copy_to(context_.runtime);
  }
  // The values of a tensor on the device.
  std::vector<float> device_values(const Tensor& tensor) {
    Tensor host(tensor.dtype(), tensor.shape());
    device_->copy_out(host.data(), tensor.data(), tensor.bytes());
    return values_of(host);
  }

  std::shared_ptr<cuda::CudaDevice> device_;
  Context context_ = {.threads = 1, .isa = best_isa()};

 private:
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::Alive before_;
#endif
  int64_t own_bytes_ = 0;
};

}  // namespace reprise::testing
