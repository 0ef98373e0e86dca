// The MLP's activation functions on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/activation/activation.h"

namespace reprise::kernels::cuda {

// Does what ActivationCall::run() does, on `stream`. The call's pointers are device addresses, and
// its `dtype` may also be f16.
void activation(const ActivationCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
