// Helpers for the tests of the device's runtime.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device/cuda/cuda_device.h"
#include "tests/cuda_on_cpu/machine.h"

namespace reprise::cuda {

// Expects that each test releases what it took, and restores the emulated machine after it.
class OnCpu : public ::testing::Test {
 protected:
  void SetUp() override { before_ = cuda_on_cpu::alive(); }
  void TearDown() override {
    EXPECT_EQ(cuda_on_cpu::alive(), before_) << "something was not given back";
    cuda_on_cpu::machine() = {};
  }

 private:
  cuda_on_cpu::Alive before_;
};

// A device without kernels.
class BareDevice final : public CudaDevice {
 public:
  explicit BareDevice(const CudaOptions& options = {}) : CudaDevice(options) {}
  [[nodiscard]] DeviceOperations& operations() override { raise("a device without operations"); }
};

inline std::vector<int> counted(size_t count, int first = 0) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// The text of the Error that the call throws, or "".
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace reprise::cuda
