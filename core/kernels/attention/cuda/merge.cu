// Merges partial results: one warp per (row, head).
#include "core/kernels/attention/cuda/merge.cuh"

#include <cmath>

#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "core/kernels/shared/cuda/reduce.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr float kLog2E = 1.44269504088896f;
constexpr float kMinusInfinity = -INFINITY;

// kColumns neighbouring columns of a lane.
template <int kColumns>
struct Columns;
template <>
struct Columns<1> {
  using Loaded = float;
  __device__ static void add(float (&sums)[1], float weight, float o) { sums[0] += weight * o; }
};
template <>
struct Columns<4> {
  using Loaded = float4;
  __device__ static void add(float (&sums)[4], float weight, const float4& o) {
    sums[0] += weight * o.x;
    sums[1] += weight * o.y;
    sums[2] += weight * o.z;
    sums[3] += weight * o.w;
  }
};

// The part that a lane of the warp weighs: the entry of its results, and its weight.
struct LanePart {
  int64_t entry = 0;
  float weight = 0.0f;
};

// Adds the parts of a warp's lanes to the sums of kColumns columns from `column` on. Only the first
// `count` lanes have a part. Loads kAtOnce parts at a time.
template <int kColumns>
__device__ __forceinline__ void add_parts(const MergeCall& call, const LanePart& part, int count,
                                          int64_t column, float (&sums)[kColumns]) {
  using Loaded = typename Columns<kColumns>::Loaded;
  constexpr int kAtOnce = 8;
  static_assert(kWarp % kAtOnce == 0);
  for (int first = 0; first < count; first += kAtOnce) {
    float weights[kAtOnce];
    Loaded o[kAtOnce];
    REPRISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      weights[i] = __shfl_sync(kAllLanes, part.weight, first + i);
      const int64_t entry = __shfl_sync(kAllLanes, part.entry, first + i);
      o[i] = Loaded{};
      if (weights[i] != 0.0f && column < call.head_dim)
        o[i] = *reinterpret_cast<const Loaded*>(call.o + entry * call.head_dim + column);
    }
    REPRISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) Columns<kColumns>::add(sums, weights[i], o[i]);
  }
}

// Grid: a warp for each (merged row, head), 4 warps a block. A lane computes the weights of every
// 32nd part, and has kColumns columns of the row. A warp reads parts * (head_dim + 2) floats, which
// have just been written, from memory or L2, and writes head_dim elements: bandwidth is the limit.
template <typename Out, int kColumns>
__global__ void __launch_bounds__(kThreads) merge_rows(const MergeCall call) {
  let_next_kernel_begin();
  const int64_t index = item_index() / kWarp;
  if (index >= call.merged * call.heads) return;
  const int64_t merged = index / call.heads, head = index % call.heads;
  const int32_t row = call.rows[merged];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t begin = call.begin[merged], end = call.begin[merged + 1];
  await_previous_kernels();  // the schedule, read above, was complete before they began
  if (row < 0) return;
  const auto entry_of = [&](int32_t part) { return call.entries[part] + head; };

  float m = kMinusInfinity;
  for (int32_t part = begin + lane; part < end; part += kWarp) m = fmaxf(m, call.m[entry_of(part)]);
  m = warp_max(m);
  if (m == kMinusInfinity) m = 0.0f;  // no part saw a key: exp(-inf - 0) is 0

  Out* const out =
      static_cast<Out*>(call.out) + (static_cast<int64_t>(row) * call.heads + head) * call.head_dim;
  for (int64_t first_column = 0; first_column < call.head_dim; first_column += kWarp * kColumns) {
    const int64_t column = first_column + lane * kColumns;
    float sums[kColumns] = {}, n = 0.0f;
    for (int32_t first = begin; first < end; first += kWarp) {
      LanePart part;
      if (first + lane < end) {
        part.entry = entry_of(first + lane);
        part.weight = exp2_approx((call.m[part.entry] - m) * kLog2E);
        n += part.weight * call.n[part.entry];
      }
      add_parts<kColumns>(call, part, min(end - first, kWarp), column, sums);
    }
    n = warp_sum(n);
    const float inverse = n == 0.0f ? 0.0f : 1.0f / n;  // NaN stays NaN
    if (column >= call.head_dim) continue;
    REPRISE_UNROLL
    for (int i = 0; i < kColumns; ++i) out[column + i] = rounded_to<Out>(sums[i] * inverse);
  }
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
