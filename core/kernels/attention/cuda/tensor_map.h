// Tensor maps: how the tensor memory accelerator (TMA) of compute capability 9.0 finds the rows of
// a KV cache. It copies boxes of kBoxRows rows and kBoxColumns columns.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace reprise::kernels::cuda {

// A box is the unit of wgmma's layout in shared memory (swizzled_matrix() of ptx.cuh): the 8 rows
// of a panel after which its permutation of 16-byte chunks repeats.
inline constexpr int kBoxRows = 8, kBoxColumns = 64;

// CUtensorMap of the driver's API (aligned to 64 bytes, from CUDA 13 on to 128). Kernels get it as
// a parameter.
struct alignas(128) TensorMap {
  std::array<uint64_t, 16> words{};
};

// Returns the map of a matrix of rows of `columns` 16-bit elements. `rows` is the address of row 0
// in device memory, a multiple of 16; `columns` is a multiple of kBoxColumns. The map has no last
// row, so only boxes within allocated memory may be copied. Throws Error if the driver refuses.
TensorMap map_of_rows(const void* rows, int64_t columns);

struct CacheMaps {
  TensorMap keys, values;
};

// The maps of a step's first caches. A cache whose bit in `mapped` is not set has no map.
struct StepMaps {
  static constexpr int kMost = 4;
  CacheMaps caches[kMost];
  uint32_t mapped = 0;
};

static_assert(sizeof(TensorMap) == 128 && std::is_trivially_copyable_v<StepMaps>);

}  // namespace reprise::kernels::cuda
