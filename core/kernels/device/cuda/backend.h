// Opens a CUDA device with all its kernels.
#pragma once

#include <memory>

#include "core/device/cuda/cuda_device.h"

namespace reprise::kernels::cuda {

// Throws what reprise::cuda::require_cuda_device() throws. Only the thread that opened a device may
// use it.
std::shared_ptr<reprise::cuda::CudaDevice> open_cuda(
    const reprise::cuda::CudaOptions& options = {});

}  // namespace reprise::kernels::cuda
