// Attention over bf16 caches.
#include "core/kernels/attention/cuda/attention_launch.cuh"

namespace reprise::kernels::cuda {

void launch_bf16_tiles(const AttentionCall& call, const StepMaps& maps, const TileLaunch& tiles,
                       int64_t head_dim, int32_t sms, cudaStream_t stream) {
  launch_tiles<__nv_bfloat16>(call, maps, tiles, head_dim, sms, stream);
}

}  // namespace reprise::kernels::cuda
