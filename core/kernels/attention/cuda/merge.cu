// Merges partial results: one warp per (row, head).
#include "core/kernels/attention/cuda/merge.cuh"

#include "core/kernels/attention/cuda/merge_row.cuh"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// Grid: a warp for each (merged row, head), 4 warps a block. A warp reads parts * (head_dim + 2)
// floats, which have just been written, from memory or L2, and writes head_dim elements: bandwidth
// is the limit.
template <typename Out, int kColumns>
__global__ void __launch_bounds__(kThreads) merge_rows(const MergeCall call) {
  let_next_kernel_begin();
  const int64_t index = item_index() / kWarp;
  if (index >= call.merged * call.heads) return;
  const int64_t merged = index / call.heads, head = index % call.heads;
  const int32_t row = call.rows[merged];
  const int32_t begin = call.begin[merged], end = call.begin[merged + 1];
  await_previous_kernels();  // the schedule, read above, was complete before they began
  if (row < 0) return;
  const auto row_of_out = static_cast<int64_t>(row) * call.heads + head;
  Out* const out = static_cast<Out*>(call.out) + row_of_out * call.head_dim;
  merge_row<kColumns>(call, begin, end, head, [&](int64_t column, const auto& values) {
    store_merged(out + column, values);
  });
}

}  // namespace

void merge_partials(const MergeCall& call, cudaStream_t stream) {
  const LaunchShape shape{.name = "merge_partials",
                          .grid = dim3(blocks_for(call.merged * call.heads * kWarp, kThreads)),
                          .block = dim3(kThreads),
                          .begins_early = true};
  visit_device_dtype(call.out_dtype, [&](auto zero) {
    using Out = decltype(zero);
    if (call.head_dim % 4 == 0) {
      launch(shape, stream, merge_rows<Out, 4>, call);
    } else {
      launch(shape, stream, merge_rows<Out, 1>, call);
    }
  });
}

}  // namespace reprise::kernels::cuda
