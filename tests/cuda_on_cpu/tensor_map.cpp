// Tensor maps of the emulated device.
#include "core/kernels/attention/cuda/tensor_map.h"

#include <cstddef>
#include <cstring>

#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"

namespace reprise::kernels::cuda {

TensorMap map_of_rows(const void* rows, int64_t columns) {
  const cuda_on_cpu::MappedRows mapped{static_cast<const std::byte*>(rows), columns * 2};
  TensorMap map;
  static_assert(sizeof mapped <= sizeof map);
  std::memcpy(map.words.data(), &mapped, sizeof mapped);
  return map;
}

}  // namespace reprise::kernels::cuda
