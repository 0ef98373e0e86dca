#include "core/kernels/linear/cuda/epilogue_bias.h"

#include "core/device/cuda/cuda_device.h"
#include "core/kernels/rows/cuda/rows.cuh"

namespace reprise::kernels::cuda {

const void* EpilogueBias::of(const LinearCall& call, int64_t outputs, const Context& context) {
  if (call.bias == nullptr || call.out_dtype == DType::kF32) return call.bias;
  if (narrowed_ != call.bias) {
    narrow_ = Buffer(context.runtime, static_cast<size_t>(outputs) * size_of(call.out_dtype));
    auto& device = static_cast<reprise::cuda::CudaDevice&>(*context.runtime);
    narrow_values(
        {.in = call.bias, .out = narrow_.data(), .dtype = call.out_dtype, .count = outputs},
        device.stream());
    narrowed_ = call.bias;
  }
  return narrow_.data();
}

}  // namespace reprise::kernels::cuda
