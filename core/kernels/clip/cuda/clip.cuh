// Clipping on the device.
#pragma once

#include <cuda_runtime.h>

#include "core/kernels/clip/clip.h"

namespace reprise::kernels::cuda {

// Does what ClipCall::run() does, on `stream`. `call.data` is a device address.
void clip(const ClipCall& call, cudaStream_t stream);

}  // namespace reprise::kernels::cuda
