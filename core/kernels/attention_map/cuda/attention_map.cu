// Attention maps with tensor cores. A block computes 64 rows of one head, and each of its warps 16
// of these rows. Keys or values pass through shared memory, 64 at a time.
#include "core/kernels/attention_map/cuda/attention_map.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/constant.h"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "core/kernels/shared/cuda/reduce.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kThreads = 128;
// Number of blocks that an SM must be able to run at once. This limits a thread to 128 registers,
// which suffice without spilling.
constexpr int kBlocksOfSm = 4;
constexpr int kWarpRows = 16;
constexpr int kKeys = 64;
constexpr int kFragment = 16;  // the product's inner length
constexpr float kMasked = -INFINITY;

static_assert(kThreads / kWarp * kWarpRows == kMapTileRows);

// Keys or values of a head in shared memory, one row for each token. The distance between rows is
// an odd multiple of 16 bytes, so that 8 rows lie in different banks.
template <typename T, int kHeadDim>
struct TokenRows {
  static constexpr int kStride = kHeadDim + 8;
  alignas(16) T elements[kKeys * kStride];

  // Loads `tokens` rows, which follow one another in the cache. The other rows become 0: their
  // weight is 0, but 0 * NaN would make the sums NaN. All threads of the block call it, and may
  // read the rows when it returns.
  __device__ void load(const T* from, int tokens) {
    constexpr int kChunks = kHeadDim / 8;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < kKeys * kChunks; i += kThreads) {
      const int token = i / kChunks, at = i % kChunks * 8;
      copy_async<16>(elements + token * kStride + at, from + token * kHeadDim + at,
                     token < tokens ? 16 : 0);
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
  }
};

// The rows of a warp, and the elements of a fragment that a lane has: rows g and g + 8, columns 2 t
// and 2 t + 1 (core/kernels/shared/cuda/ptx.cuh).
struct WarpRows {
  int first, end;  // rows of the step
  int lane, g, t;

  __device__ explicit WarpRows(const MapTile& tile)
      : first(tile.first_row + static_cast<int>(threadIdx.x) / kWarp * kWarpRows),
        end(tile.end_row),
        lane(static_cast<int>(threadIdx.x) % kWarp),
        g(lane / 4),
        t(lane % 4) {}
  // Row and column of element i of a fragment of sums.
  [[nodiscard]] __device__ int row(int i) const { return first + g + i / 2 * 8; }
  [[nodiscard]] __device__ int column(int i) const { return 2 * t + i % 2; }
};

template <typename T>
__device__ const T* of_head(const void* base, const MapRun& run, const MapKeys& of, int64_t head) {
  return static_cast<const T*>(base) + of.layer * run.layer_stride +
         head / (of.heads / of.kv_heads) * run.head_stride;
}

// Calls fn(run, first, tokens) for the keys that rows of the tile see, at most 64 keys of one run
// at a time.
template <typename Fn>
__device__ void for_keys(const MapKeys& of, const MapTile& tile, Fn&& fn) {
  for (int r = tile.first_run; r < tile.end_run; ++r) {
    const MapRun run = of.runs[r];
    const int seen = min(run.tokens, tile.seen - run.first_key);
    for (int first = 0; first < seen; first += kKeys) fn(run, first, min(kKeys, seen - first));
  }
}

__device__ float alibi(const ComputeMap& call, float slope, int key, int query) {
  if (!call.rounded_to_bf16) return slope * static_cast<float>(key - query);
  const auto rounded = [&](int position) {
    const auto near = static_cast<float>(rounded_to<__nv_bfloat16>(static_cast<float>(position)));
    const auto steep = static_cast<float>(rounded_to<__nv_bfloat16>(slope));
    return static_cast<float>(rounded_to<__nv_bfloat16>(steep * near));
  };
  return call.factor * (rounded(key) - rounded(query));
}

// Turns the scores of the warp's rows, which the warp's lanes have written to the map, into
// weights. Masked scores become 0.
__device__ void softmax_rows(const ComputeMap& call, const WarpRows& rows, int64_t head) {
  for (int row = rows.first; row < min(rows.first + kWarpRows, rows.end); ++row) {
    float* weights = call.map + (head * call.rows + row) * call.keys;
    float m = kMasked, n = 0.0f;
    for (int64_t k = rows.lane; k < call.keys; k += kWarp) m = fmaxf(m, weights[k]);
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
      m = fmaxf(m, __shfl_xor_sync(kAllLanes, m, lanes));
    for (int64_t k = rows.lane; k < call.keys; k += kWarp) {
      weights[k] = weights[k] == kMasked ? 0.0f : expf(weights[k] - m);
      n += weights[k];
    }
    n = warp_sum(n);
    if (n == 0.0f) continue;  // no key was seen; NaN passes
    for (int64_t k = rows.lane; k < call.keys; k += kWarp) weights[k] /= n;
  }
}

// Grid: x tiles, y heads. A block reads the queries and the keys of its tile once, writes the
// tile's f32 weights four times and reads them three times (mostly in L2). The bytes of the map are
// the limit, not the products.
template <typename T, int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm) compute_tile(const ComputeMap call) {
  using Rows = TokenRows<T, kHeadDim>;
  constexpr int kSteps = kHeadDim / kFragment;
  REPRISE_SHARED(Rows, keys);
  const MapTile tile = call.of.tiles[blockIdx.x];
  const int64_t head = blockIdx.y;
  const WarpRows rows(tile);

  uint32_t q[kSteps][4];
  REPRISE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int row = rows.row(i % 2 * 2), col = s * kFragment + i / 2 * 8 + 2 * rows.t;
      const float* from = call.q + row * call.q_row_stride + head * kHeadDim + col;
      q[s][i] = row < rows.end ? pack_pair<T>(from[0], from[1]) : 0;
    }
  }
  for (int row = rows.first; row < min(rows.first + kWarpRows, rows.end); ++row)
    for (int64_t k = rows.lane; k < call.keys; k += kWarp)
      call.map[(head * call.rows + row) * call.keys + k] = kMasked;
  __syncwarp();

  const float slope = call.slopes == nullptr ? 0.0f : call.slopes[head];
  const auto put = [&](const MapRun& run, int row, int key, float product) {
    if (row >= rows.end || run.first_key + key >= call.of.seen[row]) return;
    const int position = call.positions[row], key_position = run.position + key;
    if (call.window > 0 && position - key_position >= call.window) return;
    const int64_t at = (head * call.rows + row) * call.keys + run.first_key + key;
    float score = call.scale * product;
    if (call.slopes != nullptr) score += alibi(call, slope, key_position, position);
    if (call.bias != nullptr) score += call.bias[at];
    call.map[at] = score;
  };
  for_keys(call.of, tile, [&](const MapRun& run, int first, int tokens) {
    keys.load(of_head<T>(run.keys, run, call.of, head) + int64_t{first} * kHeadDim, tokens);
    for (int j = 0; j < tokens; j += 8) {
      float products[4] = {};
      const T* row = keys.elements + (j + rows.lane % 8) * Rows::kStride + rows.lane / 8 % 2 * 8;
      REPRISE_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        uint32_t b[2];
        load_matrices(b, row + s * kFragment);
        multiply_add<T>(products, q[s], b);
      }
      for (int i = 0; i < 4; ++i)
        if (j + rows.column(i) < tokens)
          put(run, rows.row(i), first + j + rows.column(i), products[i]);
    }
  });
  __syncwarp();
  softmax_rows(call, rows, head);
}

// The weights of a row of the map, for one head.
struct RowWeights {
  const ApplyMap& call;
  int64_t at;  // element of key 0
  float scale;

  __device__ RowWeights(const ApplyMap& of, int64_t head, int64_t row)
      : call(of), at(head * of.head_stride + row * of.row_stride), scale(1.0f) {
    if (of.row_scales != nullptr) scale = of.row_scales[head * of.scale_head_stride + row];
  }
  __device__ float operator[](int64_t key) const {
    if (call.row_scales != nullptr)
      return scale * static_cast<float>(static_cast<const uint8_t*>(call.map)[at + key]);
    if (call.map_dtype == DType::kBF16)
      return static_cast<float>(static_cast<const __nv_bfloat16*>(call.map)[at + key]);
    return static_cast<const float*>(call.map)[at + key];
  }
};

__device__ void put(const ApplyMap& call, int64_t at, float value) {
  switch (call.out_dtype) {
    case DType::kF32:
      static_cast<float*>(call.out)[at] = value;
      break;
    case DType::kBF16:
      static_cast<__nv_bfloat16*>(call.out)[at] = rounded_to<__nv_bfloat16>(value);
      break;
    case DType::kF16:
      static_cast<__half*>(call.out)[at] = rounded_to<__half>(value);
      break;
  }
}

// Grid: x tiles, y heads. A block reads its tile's rows of the map and the values once, and writes
// the tile's output. The bytes of the map are the limit.
template <typename T, int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm) apply_tile(const ApplyMap call) {
  using Rows = TokenRows<T, kHeadDim>;
  constexpr int kTiles = kHeadDim / 8;
  REPRISE_SHARED(Rows, values);
  const MapTile tile = call.of.tiles[blockIdx.x];
  const int64_t head = blockIdx.y;
  const WarpRows rows(tile);
  // Rows beyond the tile's last row read the weights of the last row, and write nothing.
  const int last = rows.end - 1;
  const int upper = min(rows.row(0), last), lower = min(rows.row(2), last);
  const RowWeights of_upper(call, head, upper - call.first_row);
  const RowWeights of_lower(call, head, lower - call.first_row);
  const int seen_upper = call.of.seen[upper], seen_lower = call.of.seen[lower];

  float sums[kTiles][4] = {};
  for_keys(call.of, tile, [&](const MapRun& run, int first, int tokens) {
    values.load(of_head<T>(run.values, run, call.of, head) + int64_t{first} * kHeadDim, tokens);
    const int begin = run.first_key + first;
    const auto weight = [&](const RowWeights& row, int seen, int key) {
      return key < tokens && begin + key < seen ? row[begin + key] : 0.0f;
    };
    for (int s = 0; s < tokens; s += kFragment) {
      uint32_t a[4];
      REPRISE_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int key = s + half * 8 + 2 * rows.t;
        a[2 * half] =
            pack_pair<T>(weight(of_upper, seen_upper, key), weight(of_upper, seen_upper, key + 1));
        a[2 * half + 1] =
            pack_pair<T>(weight(of_lower, seen_lower, key), weight(of_lower, seen_lower, key + 1));
      }
      const T* row = values.elements + (s + rows.lane % 16) * Rows::kStride;
      REPRISE_UNROLL
      for (int j = 0; j < kTiles; ++j) {
        uint32_t b[2];
        load_matrices_transposed(b, row + j * 8);
        multiply_add<T>(sums[j], a, b);
      }
    }
  });
  for (int j = 0; j < kTiles; ++j)
    for (int i = 0; i < 4; ++i)
      if (rows.row(i) < rows.end)
        put(call, (rows.row(i) * call.of.heads + head) * kHeadDim + j * 8 + rows.column(i),
            sums[j][i]);
}

template <size_t... kIndices, typename Use>
void with_head_dim(int64_t head_dim, std::index_sequence<kIndices...>, Use&& use) {
  with_constant<kHeadDims[kIndices]...>(static_cast<int>(head_dim), std::forward<Use>(use));
}

// Calls use(T{}, head_dim): T is the keys' type, and head_dim an integral constant.
template <typename Use>
void visit_keys(const MapKeys& of, Use&& use) {
  require_head_dim(of.head_dim);
  REPRISE_CHECK(of.dtype != DType::kF32, "keys of f32");
  with_head_dim(of.head_dim, std::make_index_sequence<kHeadDims.size()>(), [&](auto dim) {
    if (of.dtype == DType::kBF16) return use(__nv_bfloat16{}, dim);
    use(__half{}, dim);
  });
}

LaunchShape shape_of(const char* name, const MapKeys& of) {
  return {.name = name,
          .grid = dim3(static_cast<unsigned>(of.tile_count), static_cast<unsigned>(of.heads)),
          .block = dim3(kThreads)};
}

}  // namespace

void compute_map(const ComputeMap& call, cudaStream_t stream) {
  visit_keys(call.of, [&](auto zero, auto dim) {
    launch(shape_of("compute_map", call.of), stream,
           compute_tile<decltype(zero), decltype(dim)::value>, call);
  });
}

void apply_map(const ApplyMap& call, cudaStream_t stream) {
  visit_keys(call.of, [&](auto zero, auto dim) {
    launch(shape_of("apply_map", call.of), stream, apply_tile<decltype(zero), decltype(dim)::value>,
           call);
  });
}

}  // namespace reprise::kernels::cuda
