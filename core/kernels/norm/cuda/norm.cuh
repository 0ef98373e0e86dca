// RMSNorm and LayerNorm on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/norm/norm.h"

namespace reprise::kernels::cuda {

// Does what NormCall::run() does, on `stream`. The call's pointers are device addresses, and `out`
// may also be f16.
void norm(const NormCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
