// Turns failed calls of the CUDA runtime into errors.
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "core/base/error.h"

namespace reprise::cuda {

// Throws Error with the name of the call and the CUDA runtime's message if `code` is a failure. The
// cause may be a kernel launched earlier, because the device reports a kernel's fault at a later
// call.
inline void check_cuda(cudaError_t code, std::string_view call) {
  if (code != cudaSuccess)
    raise("{} failed on the CUDA device: {} ({})", call, cudaGetErrorString(code),
          cudaGetErrorName(code));
}

}  // namespace reprise::cuda
