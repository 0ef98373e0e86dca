// The MLP's non-linearities on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/activation/activation.h"

namespace reprise::kernels::cuda {

// ActivationCall::run() on `stream`: its pointers are the device's, and `dtype` may be f16 too.
void activation(const ActivationCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
