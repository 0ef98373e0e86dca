#include "tests/cuda_on_cpu/intrinsic_kernels.h"

#include "core/kernels/attention/cuda/tensor_map.h"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"
#include "tests/cuda_on_cpu/device_array.h"

namespace reprise::kernels::cuda::intrinsics {
namespace {

using cuda_on_cpu::DeviceArray;

const LaunchShape kOneWarp{.name = "intrinsic", .block = dim3(kWarp), .shared_bytes = 4096};

__global__ void shuffle(Shuffle kind, int operand, int width, int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const auto distance = static_cast<unsigned>(operand);
  out[lane] = kind == Shuffle::kIndex  ? __shfl_sync(kAllLanes, lane, operand, width)
              : kind == Shuffle::kUp   ? __shfl_up_sync(kAllLanes, lane, distance, width)
              : kind == Shuffle::kDown ? __shfl_down_sync(kAllLanes, lane, distance, width)
                                       : __shfl_xor_sync(kAllLanes, lane, operand, width);
}

__global__ void vote(uint32_t votes, uint32_t* ballot, uint32_t* any, uint32_t* all) {
  const int own = static_cast<int>(votes >> threadIdx.x & 1u);
  ballot[threadIdx.x] = __ballot_sync(kAllLanes, own);
  any[threadIdx.x] = static_cast<uint32_t>(__any_sync(kAllLanes, own));
  all[threadIdx.x] = static_cast<uint32_t>(__all_sync(kAllLanes, own));
}

template <int kMatrices, bool kTransposed>
__global__ void load(uint32_t* out) {
  auto* shared = dynamic_shared<uint16_t>();
  for (unsigned e = threadIdx.x; e < 64 * kMatrices; e += kWarp)
    shared[e] = static_cast<uint16_t>(e);
  __syncwarp();
  uint32_t registers[kMatrices];
  const uint16_t* row = shared + threadIdx.x % (8 * kMatrices) * 8;
  if constexpr (kTransposed) {
    load_matrices_transposed(registers, row);
  } else {
    load_matrices(registers, row);
  }
  for (unsigned i = 0; i < kMatrices; ++i) out[threadIdx.x * kMatrices + i] = registers[i];
}

template <int kMatrices>
std::vector<uint32_t> loaded(bool is_transposed) {
  const DeviceArray<uint32_t> out(size_t{32} * kMatrices);
  launch(kOneWarp, nullptr, is_transposed ? load<kMatrices, true> : load<kMatrices, false>,
         out.data());
  return out.values();
}

template <typename T>
__global__ void multiply(const uint32_t* a, const uint32_t* b, float* c) {
  const unsigned lane = threadIdx.x;
  const uint32_t own_a[4] = {a[4 * lane], a[4 * lane + 1], a[4 * lane + 2], a[4 * lane + 3]};
  const uint32_t own_b[2] = {b[2 * lane], b[2 * lane + 1]};
  float own_c[4] = {c[4 * lane], c[4 * lane + 1], c[4 * lane + 2], c[4 * lane + 3]};
  multiply_add<T>(own_c, own_a, own_b);
  for (unsigned i = 0; i < 4; ++i) c[4 * lane + i] = own_c[i];
}

template <typename T>
__global__ void multiply_whole(const uint16_t* a, const uint16_t* b, float* c) {
  auto* shared_a = dynamic_shared<uint16_t>();  // [16][16]
  uint16_t* shared_b = shared_a + 256;          // [16][8]
  const unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
  copy_async<16>(shared_a + lane * 8, a + lane * 8);
  if (lane < 16) copy_async<16>(shared_b + lane * 8, b + lane * 8);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  uint32_t own_a[4], own_b[2];
  load_matrices(own_a, shared_a + lane % 16 * 16 + lane / 16 * 8);
  load_matrices_transposed(own_b, shared_b + lane % 16 * 8);
  float own_c[4] = {};
  multiply_add<T>(own_c, own_a, own_b);
  c[g * 8 + 2 * t] = own_c[0];
  c[g * 8 + 2 * t + 1] = own_c[1];
  c[(g + 8) * 8 + 2 * t] = own_c[2];
  c[(g + 8) * 8 + 2 * t + 1] = own_c[3];
}

template <int kBytes>
__global__ void copy(const uint8_t* from, uint8_t* to, int source_bytes) {
  auto* shared = dynamic_shared<uint8_t>();
  for (int i = 0; i < 16; ++i) shared[i] = 0xee;
  copy_async<kBytes>(shared, from, source_bytes);
  copy_async_commit();
  copy_async_wait<0>();
  for (int i = 0; i < 16; ++i) to[i] = shared[i];
}

__global__ void power(const float* x, float* y) { y[blockIdx.x] = exp2_approx(x[blockIdx.x]); }

template <typename T>
__global__ void pack(const float* x, uint32_t* pairs, float* unpacked) {
  const unsigned i = blockIdx.x;
  pairs[i] = pack_pair<T>(x[2 * i], x[2 * i + 1]);
  const float2 back = unpack_pair<T>(pairs[i]);
  unpacked[2 * i] = back.x;
  unpacked[2 * i + 1] = back.y;
}

template <typename T>
__global__ void add_pairs(const float* a, const float* b, const float* c, float* sums) {
  const unsigned i = 2 * blockIdx.x;
  const float2 sum = unpack_pair<T>(multiply_add_pairs<T>(
      pack_pair<T>(a[i], a[i + 1]), pack_pair<T>(b[i], b[i + 1]), pack_pair<T>(c[i], c[i + 1])));
  sums[i] = sum.x;
  sums[i + 1] = sum.y;
}

__global__ void tell_indices(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned* own = out + 6 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  own[0] = threadIdx.x;
  own[1] = threadIdx.y;
  own[2] = threadIdx.z;
  own[3] = blockIdx.x;
  own[4] = blockIdx.y;
  own[5] = blockIdx.z;
}

__global__ void add_up(int* sum, int* largest, float* float_sum, unsigned* wrapped) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(sum, thread);
  atomicMax(largest, thread);
  atomicAdd(float_sum, 0.5f);
  atomicInc(wrapped, 6);
}

template <typename T, RowsOfB kRows, int kTiles>
__device__ void multiply_by_warpgroup(const uint16_t* a, const uint16_t* b, float* c, int first) {
  constexpr int kColumns = 8 * kTiles, kPanel = 64;
  constexpr bool kIsTransposed = kRows == RowsOfB::kRowsOfProduct;
  constexpr int kMatrixRows = kIsTransposed ? 64 : kColumns;
  constexpr int kMatrixColumns = kIsTransposed ? kColumns : 64;
  auto* shared = dynamic_shared<uint16_t>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kMatrixRows * kMatrixColumns / 8; i += 128) {
    const int row = i / (kMatrixColumns / 8), column = i % (kMatrixColumns / 8) * 8;
    const int at = (column / kPanel * kMatrixRows + row) * kPanel +
                   swizzled_chunk(row, column % kPanel / 8) * 8;
    copy_async<16>(shared + at, b + row * kMatrixColumns + column);
  }
  copy_async_commit();
  copy_async_wait<0>();
  fence_async_proxy();
  __syncthreads();

  const int g = thread % 32 / 4, t = thread % 4, row = thread / 32 * 16 + g;
  const auto pair = [&](int r, int column) {
    return *reinterpret_cast<const uint32_t*>(a + r * 16 + column);
  };
  const uint32_t own_a[4] = {pair(row, 2 * t), pair(row + 8, 2 * t), pair(row, 2 * t + 8),
                             pair(row + 8, 2 * t + 8)};
  float sums[kTiles][4];
  const auto of_c = [&](int j, int i) -> float& {
    return c[(row + i / 2 * 8) * kColumns + 8 * j + 2 * t + i % 2];
  };
  REPRISE_UNROLL
  for (int j = 0; j < kTiles; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) sums[j][i] = of_c(j, i);
  }
  warpgroup_begin(sums);
  warpgroup_multiply_add<T, kRows>(
      sums, own_a,
      swizzled_matrix(shared + (kIsTransposed ? first * kPanel : first),
                      kMatrixRows * kSwizzledBytes, 8 * kSwizzledBytes));
  warpgroup_commit();
  warpgroup_wait<0>(sums);
  REPRISE_UNROLL
  for (int j = 0; j < kTiles; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) of_c(j, i) = sums[j][i];
  }
}

template <typename T, RowsOfB kRows, int kTiles>
__global__ void multiply_swizzled(const uint16_t* a, const uint16_t* b, float* c, int first) {
  if constexpr (kHasWarpgroups) multiply_by_warpgroup<T, kRows, kTiles>(a, b, c, first);
}

__global__ void exchange(int* out, int rounds) {
  REPRISE_SHARED(SharedBarrier, all_written);
  REPRISE_SHARED(int[2][96], numbers);
  const unsigned thread = threadIdx.x;
  if (thread == 0) barrier_init(&all_written, 96);
  __syncthreads();
  barrier_wait(&all_written, 1);  // of the phase before the first
  for (int k = 0; k < rounds; ++k) {
    numbers[k % 2][thread] = 100 * k + static_cast<int>(thread);
    barrier_arrive(&all_written);
    barrier_wait(&all_written, static_cast<unsigned>(k) % 2);
    out[k * 96 + static_cast<int>(thread)] = numbers[k % 2][(thread + 32) % 96];
  }
}

// Dynamic shared memory of copy_box(). The barrier is in it, as in the attention kernel: a static
// variable would lie before the box and leave its alignment to the compiler.
struct ArrivingBox {
  uint16_t box[512];
  SharedBarrier arrived;
};

__global__ void copy_box(const __grid_constant__ TensorMap map, uint16_t* out, int row,
                         int column) {
  ArrivingBox& shared = *dynamic_shared<ArrivingBox>();
  if (threadIdx.x == 0) {
    barrier_init(&shared.arrived, 1);
    fence_async_proxy();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    barrier_arrive_expecting(&shared.arrived, sizeof shared.box);
    copy_box_async(shared.box, &map, column, row, &shared.arrived);
  }
  barrier_wait(&shared.arrived, 0);
  for (unsigned i = threadIdx.x; i < 512; i += kWarp) out[i] = shared.box[i];
}

// The producers have two tiles in flight. One lane of each consuming warp signals that its warp has
// read.
__global__ void add_up_ring(const int* in, int* out, int tiles) {
  constexpr int kStages = 3, kNumbers = 64;
  REPRISE_SHARED(SharedBarrier[kStages], full);
  REPRISE_SHARED(SharedBarrier[kStages], empty);
  REPRISE_SHARED(int[kStages][kNumbers], ring);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0)
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&full[stage], kNumbers);
      barrier_init(&empty[stage], kNumbers / kWarp);
    }
  __syncthreads();
  const auto round = [](int tile) { return static_cast<unsigned>(tile / kStages); };
  if (thread < kNumbers) {
    for (int tile = 0; tile <= tiles; ++tile) {
      if (tile < tiles) {
        barrier_wait(&empty[tile % kStages], (round(tile) + 1) % 2);
        copy_async<4>(&ring[tile % kStages][thread], in + tile * kNumbers + thread);
      }
      copy_async_commit();
      copy_async_wait<1>();
      if (tile > 0) barrier_arrive(&full[(tile - 1) % kStages]);
    }
  } else {
    int sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      barrier_wait(&full[tile % kStages], round(tile) % 2);
      sum += (tile + 1) * ring[tile % kStages][2 * kNumbers - 1 - thread];
      __syncwarp();
      if (thread % kWarp == 0) barrier_arrive(&empty[tile % kStages]);
    }
    out[2 * kNumbers - 1 - thread] = sum;
  }
}

template <typename T>
auto warpgroup_kernel(const WarpgroupProduct& product) {
  using enum RowsOfB;
  if (product.n == 128)
    return product.is_transposed ? multiply_swizzled<T, kRowsOfProduct, 16>
                                 : multiply_swizzled<T, kColumnsOfProduct, 16>;
  return product.is_transposed ? multiply_swizzled<T, kRowsOfProduct, 8>
                               : multiply_swizzled<T, kColumnsOfProduct, 8>;
}

}  // namespace

std::vector<int> shuffled_lanes(Shuffle kind, int operand, int width) {
  const DeviceArray<int> out(32);
  launch(kOneWarp, nullptr, shuffle, kind, operand, width, out.data());
  return out.values();
}

Votes votes(uint32_t votes) {
  const DeviceArray<uint32_t> ballot(32), any(32), all(32);
  launch(kOneWarp, nullptr, vote, votes, ballot.data(), any.data(), all.data());
  return {ballot.values(), any.values(), all.values()};
}

std::vector<uint32_t> loaded_matrices(int matrices, bool is_transposed) {
  return matrices == 1   ? loaded<1>(is_transposed)
         : matrices == 2 ? loaded<2>(is_transposed)
                         : loaded<4>(is_transposed);
}

std::vector<float> product(const Product& product, bool is_bf16) {
  const DeviceArray<uint32_t> a(product.a), b(product.b);
  const DeviceArray<float> c(product.c);
  launch(kOneWarp, nullptr, is_bf16 ? multiply<__nv_bfloat16> : multiply<__half>, a.data(),
         b.data(), c.data());
  return c.values();
}

std::vector<float> whole_product(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                 bool is_bf16) {
  const DeviceArray<uint16_t> device_a(a), device_b(b);
  const DeviceArray<float> c(128);
  launch(kOneWarp, nullptr, is_bf16 ? multiply_whole<__nv_bfloat16> : multiply_whole<__half>,
         device_a.data(), device_b.data(), c.data());
  return c.values();
}

std::vector<float> warpgroup_product(const WarpgroupProduct& product) {
  const DeviceArray<uint16_t> a(product.a), b(product.b);
  const DeviceArray<float> c(product.c);
  launch({.name = "wgmma", .block = dim3(128), .shared_bytes = size_t{128} * 64 * 2}, nullptr,
         product.is_bf16 ? warpgroup_kernel<__nv_bfloat16>(product)
                         : warpgroup_kernel<__half>(product),
         a.data(), b.data(), c.data(), product.first);
  return c.values();
}

std::vector<int> exchanged(int rounds) {
  const DeviceArray<int> out(static_cast<size_t>(rounds) * 96);
  launch({.name = "exchange", .block = dim3(96)}, nullptr, exchange, out.data(), rounds);
  return out.values();
}

std::vector<int> ring_sums(const std::vector<int>& numbers) {
  const DeviceArray<int> in(numbers), out(64);
  launch({.name = "ring", .block = dim3(128)}, nullptr, add_up_ring, in.data(), out.data(),
         static_cast<int>(numbers.size() / 64));
  return out.values();
}

std::vector<uint16_t> copied_box(const std::vector<uint16_t>& matrix, int columns, int row,
                                 int column) {
  const DeviceArray<uint16_t> from(matrix), to(512);
  launch({.name = "box", .block = dim3(kWarp), .shared_bytes = sizeof(ArrivingBox)}, nullptr,
         copy_box, map_of_rows(from.data(), columns), to.data(), row, column);
  return to.values();
}

std::vector<uint8_t> copied(int bytes, int source_bytes) {
  std::vector<uint8_t> source(16);
  for (size_t i = 0; i < 16; ++i) source[i] = static_cast<uint8_t>(i + 1);
  const DeviceArray<uint8_t> from(source), to(16);
  launch({.name = "copy", .block = dim3(1), .shared_bytes = 16}, nullptr,
         bytes == 4   ? copy<4>
         : bytes == 8 ? copy<8>
                      : copy<16>,
         from.data(), to.data(), source_bytes);
  return to.values();
}

std::vector<float> exp2_of(const std::vector<float>& x) {
  const DeviceArray<float> in(x), out(x.size());
  launch({.name = "exp2", .grid = dim3(static_cast<unsigned>(x.size())), .block = dim3(1)}, nullptr,
         power, in.data(), out.data());
  return out.values();
}

Packed packed(const std::vector<float>& x, bool is_bf16) {
  const DeviceArray<float> in(x), unpacked(x.size());
  const DeviceArray<uint32_t> pairs(x.size() / 2);
  launch({.name = "pack", .grid = dim3(static_cast<unsigned>(x.size() / 2)), .block = dim3(1)},
         nullptr, is_bf16 ? pack<__nv_bfloat16> : pack<__half>, in.data(), pairs.data(),
         unpacked.data());
  return {pairs.values(), unpacked.values()};
}

std::vector<float> sums_of_pairs(const std::vector<float>& a, const std::vector<float>& b,
                                 const std::vector<float>& c, bool is_bf16) {
  const DeviceArray<float> on_a(a), on_b(b), on_c(c), sums(a.size());
  launch({.name = "add_pairs", .grid = dim3(static_cast<unsigned>(a.size() / 2)), .block = dim3(1)},
         nullptr, is_bf16 ? add_pairs<__nv_bfloat16> : add_pairs<__half>, on_a.data(), on_b.data(),
         on_c.data(), sums.data());
  return sums.values();
}

std::vector<std::array<unsigned, 6>> indices(std::array<unsigned, 3> grid,
                                             std::array<unsigned, 3> block) {
  const size_t threads = size_t{grid[0]} * grid[1] * grid[2] * block[0] * block[1] * block[2];
  const DeviceArray<unsigned> out(threads * 6);
  launch({.name = "indices",
          .grid = dim3(grid[0], grid[1], grid[2]),
          .block = dim3(block[0], block[1], block[2])},
         nullptr, tell_indices, out.data());
  const std::vector<unsigned> flat = out.values();
  std::vector<std::array<unsigned, 6>> rows(threads);
  for (size_t i = 0; i < flat.size(); ++i) rows[i / 6][i % 6] = flat[i];
  return rows;
}

Atomics atomics(int threads) {
  const DeviceArray<int> sum(std::vector<int>{0}), largest(std::vector<int>{0});
  const DeviceArray<float> float_sum(std::vector<float>{0.0f});
  const DeviceArray<unsigned> wrapped(std::vector<unsigned>{0});
  launch({.name = "atomics", .grid = dim3(static_cast<unsigned>(threads / 4)), .block = dim3(4)},
         nullptr, add_up, sum.data(), largest.data(), float_sum.data(), wrapped.data());
  return {sum.values()[0], largest.values()[0], float_sum.values()[0], wrapped.values()[0]};
}

}  // namespace reprise::kernels::cuda::intrinsics
