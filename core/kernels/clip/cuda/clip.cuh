// Clipping on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/clip/clip.h"

namespace reprise::kernels::cuda {

// ClipCall::run() on `stream`: its pointer is the device's.
void clip(const ClipCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
