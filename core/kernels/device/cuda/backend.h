// Opens a CUDA device with all its kernels.
#pragma once

#include <memory>

#include "core/device/cuda/cuda_device.h"

namespace reprise::kernels::cuda {

// Throws Error as reprise::cuda::require_cuda_device(). One thread at a time uses a device, and the
// one that opened it.
std::shared_ptr<reprise::cuda::CudaDevice> open_cuda(
    const reprise::cuda::CudaOptions& options = {});

}  // namespace reprise::kernels::cuda
