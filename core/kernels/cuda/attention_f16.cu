// Attention over a cache of f16.
#include "core/kernels/cuda/attention_launch.cuh"

namespace reprise::kernels::cuda {

template void launch_tiles<__half>(const AttentionCall&, const TileLaunch&, int64_t, cudaStream_t);

}  // namespace reprise::kernels::cuda
