// The attention of a step on a CUDA device.
#pragma once

#include <memory>

#include "core/device/cuda/cuda_device.h"
#include "core/kernels/attention/cuda/roofline.h"
#include "core/kernels/attention/step_attention.h"

namespace reprise::kernels::cuda {

// The gpu_model() of the device.
GpuModel model_of(const reprise::cuda::CudaDevice& device);

// `device` must outlive the result.
std::unique_ptr<StepAttention> make_step_attention(reprise::cuda::CudaDevice& device);

}  // namespace reprise::kernels::cuda
