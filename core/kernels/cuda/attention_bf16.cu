// Attention over a cache of bf16.
#include "core/kernels/cuda/attention_launch.cuh"

namespace reprise::kernels::cuda {

template void launch_tiles<__nv_bfloat16>(const AttentionCall&, const TileLaunch&, int64_t, cudaStream_t);

}  // namespace reprise::kernels::cuda
