#include "core/kernels/attention/cuda/tensor_map.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>

#include "core/base/error.h"
#include "core/device/cuda/check.h"

namespace reprise::kernels::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The function comes from the driver, to which the program is not linked.
Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t code = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                            cudaEnableDefault, &result);
#else
  const cudaError_t code =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  reprise::cuda::check_cuda(code, "looking up cuTensorMapEncodeTiled");
  if (result != cudaDriverEntryPointSuccess)
    raise("attention tiles that copy by tensor maps need a driver of CUDA 12.0 or later");
  return reinterpret_cast<Encode>(found);
}

}  // namespace

TensorMap map_of_rows(const void* rows, int64_t columns) {
  static const Encode encode = find_encode();
  // More rows than any device has memory for; coordinates are 32-bit integers.
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), cuuint64_t{1} << 31};
  const cuuint64_t row_bytes[] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[] = {kBoxColumns, kBoxRows}, steps[] = {1, 1};
  CUtensorMap map{};  // equal maps have equal bytes, even those that the driver leaves alone
  const CUresult code =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, const_cast<void*>(rows), sizes, row_bytes,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS)
    raise("cuTensorMapEncodeTiled refused rows of {} elements at {} (error {})", columns, rows,
          static_cast<int>(code));
  TensorMap result;
  static_assert(sizeof result == sizeof map && alignof(TensorMap) >= alignof(CUtensorMap));
  std::memcpy(result.words.data(), &map, sizeof map);
  return result;
}

}  // namespace reprise::kernels::cuda
