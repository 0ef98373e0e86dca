// The implementation of StepAttention for CUDA devices.
#pragma once

#include <memory>

#include "core/device/cuda/cuda_device.h"
#include "core/kernels/attention/cuda/roofline.h"
#include "core/kernels/attention/step_attention.h"

namespace reprise::kernels::cuda {

// Returns gpu_model() for the facts of `device`.
GpuModel model_of(const reprise::cuda::CudaDevice& device);

// `device` must outlive the result.
std::unique_ptr<StepAttention> make_step_attention(reprise::cuda::CudaDevice& device);

}  // namespace reprise::kernels::cuda
