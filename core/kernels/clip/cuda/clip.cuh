// Clipping on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/clip/clip.h"

namespace reprise::kernels::cuda {

// Runs `call` on `stream`, like ClipCall::run(); its pointer points to device memory.
void clip(const ClipCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
