// Attention over f16 caches.
#include "core/kernels/attention/cuda/attention_launch.cuh"

namespace reprise::kernels::cuda {

void launch_f16_tiles(const AttentionCall& call, const StepMaps& maps, const TileLaunch& tiles,
                      int64_t head_dim, int32_t sms, cudaStream_t stream) {
  launch_tiles<__half>(call, maps, tiles, head_dim, sms, stream);
}

}  // namespace reprise::kernels::cuda
