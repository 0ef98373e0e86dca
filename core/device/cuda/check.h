// Failed calls of the CUDA runtime become errors.
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "core/base/error.h"

namespace reprise::cuda {

// A device call that failed becomes an Error with its name and the runtime's own words. It may be
// the fault of a kernel that was started earlier: the device reports it at the next call.
inline void check_cuda(cudaError_t code, std::string_view call) {
  if (code != cudaSuccess)
    raise("{} failed on the CUDA device: {} ({})", call, cudaGetErrorString(code),
          cudaGetErrorName(code));
}

}  // namespace reprise::cuda
