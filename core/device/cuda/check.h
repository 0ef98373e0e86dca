// Turns failed calls of the CUDA runtime into errors.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::cuda {

// Throws MemoryError if `code` means a lack of memory, and Error for any other failure.
[[noreturn]] inline void throw_failure(cudaError_t code, const std::string& text) {
  if (code != cudaErrorMemoryAllocation) throw Error(text);
  static_cast<void>(cudaGetLastError());  // clears the error for the next launch
  throw MemoryError(text, /*need_bytes=*/0);
}

// If `code` is a failure, calls throw_failure() with the name of the call and the CUDA runtime's
// message. The cause may be a kernel launched earlier, because the device reports a kernel's fault
// at a later call.
inline void check_cuda(cudaError_t code, std::string_view call) {
  if (code != cudaSuccess)
    throw_failure(code, fmt::format("{} failed on the CUDA device: {} ({})", call,
                                    cudaGetErrorString(code), cudaGetErrorName(code)));
}

}  // namespace reprise::cuda
