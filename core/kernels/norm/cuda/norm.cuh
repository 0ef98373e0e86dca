// RMSNorm and LayerNorm on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/norm/norm.h"

namespace reprise::kernels::cuda {

// NormCall::run() on `stream`: its pointers are the device's, and `out` may be f16 too.
void norm(const NormCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
