// Matrix products on the device.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/dtype.h"
#include "core/device/cuda/cuda_device.h"

namespace reprise::kernels::cuda {

//   out [m, n] = x [m, k] w^T + bias, or out += with `accumulate`; all row-major, in device memory
//   x, w [n, k]  of one dtype
//   bias [n]     of out_dtype, or null
//   out          f32, or the dtype of x and w
// Sums accumulate in f32 and are rounded once, after adding the bias.
struct GemmCall {
  const void* x = nullptr;
  const void* w = nullptr;
  DType dtype = DType::kBF16;
  int64_t m = 0, n = 0, k = 0;
  const void* bias = nullptr;
  void* out = nullptr;
  int64_t out_stride = 0;  // elements from one row of out to the next; 0: n
  DType out_dtype = DType::kF32;
  bool accumulate = false;

  [[nodiscard]] int64_t row_stride() const { return out_stride != 0 ? out_stride : n; }
};

// Runs matrix products with a library, and keeps the library's handles, chosen algorithms and
// scratch memory between products.
class Gemm {
 public:
  virtual ~Gemm() = default;
  // Runs a product in the device's stream; m, n and k must be positive. Throws Error naming shape
  // and dtypes if the library does not support them. Equal calls give equal bits.
  virtual void run(const GemmCall& call) = 0;
};

// `device` must outlive the result.
std::unique_ptr<Gemm> make_gemm(reprise::cuda::CudaDevice& device);

}  // namespace reprise::kernels::cuda
