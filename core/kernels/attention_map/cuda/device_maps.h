// Attention maps on the device: copies plans and maps from the host to the device, and runs the map
// kernels.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/cuda/cuda_device.h"
#include "core/kernels/attention_map/attention_map.h"

namespace reprise::kernels::cuda {

// Implement kernels::attention_map() and kernels::apply_map() on `device`. Their comments state the
// conditions for devices other than the CPU.
void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   reprise::cuda::CudaDevice& device);
void apply_maps(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
                int64_t heads, const OutputView& out, reprise::cuda::CudaDevice& device);

}  // namespace reprise::kernels::cuda
