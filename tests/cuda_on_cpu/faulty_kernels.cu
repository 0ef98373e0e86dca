#include "tests/cuda_on_cpu/faulty_kernels.h"
#include "tests/cuda_on_cpu/run_tiny.cuh"

namespace reprise::kernels::cuda::faulty {
namespace {

using enum FaultKind;

// ---- Global memory ----

__global__ void read_past_end(float* data, int n) { data[threadIdx.x] = data[2 * n]; }
__global__ void write_before_begin(float* data, int n) {
  data[static_cast<int>(threadIdx.x) - n] = 1;
}
__global__ void read_unaligned(float* data, int n) {
  const float4 four = *reinterpret_cast<const float4*>(data + n + 1);
  data[0] = four.w;
}
__global__ void write_unaligned(float* data, int n) {
  *reinterpret_cast<float4*>(data + n + 2) = {1, 2, 3, 4};
}
__global__ void load_once_unaligned(float* data, int n) {
  data[0] = __uint_as_float(load_once(data + n + 1).x);
}
__global__ void load_once_past_end(float* data, int n) {
  data[0] = __uint_as_float(load_once(data + 2 * n).x);
}
__global__ void read_two(float* data, int n) { data[n] += 1.0f; }
__global__ void all_write(float* data, int n) { data[n] = static_cast<float>(threadIdx.x); }
__global__ void read_what_another_wrote(float* data, int n) {
  const int t = static_cast<int>(threadIdx.x);
  data[t] = 1.0f;
  data[n + t] = data[n - 1 - t];
}

__global__ void write_own(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < 2 * n) data[threadIdx.x] = 1.0f;
}
__global__ void barrier_between(float* data, int n) {
  const int t = static_cast<int>(threadIdx.x);
  data[t] = 1.0f;
  __syncthreads();
  data[n + t] = data[n - 1 - t];
}
__global__ void atomics_of_blocks(float* data, int n) { atomicAdd(&data[n], 1.0f); }

// Each of two blocks writes 16 numbers and counts its arrival; the block that arrives last reads
// the numbers of both. `Without` tells which step is left out or done wrongly; the scheme needs all
// of them.
enum class Without : uint8_t {
  kNothing,
  kBarrierBefore,
  kFenceBefore,
  kFenceOfDevice,
  kFenceAfterWrites,
  kAtomic,
  kFenceAfter,
  kBarrierAfter
};
template <Without kWithout>
__global__ void last_block_reads_all(float* data, int n) {
  constexpr unsigned kThreads = 16;
  const unsigned t = threadIdx.x;
  float* const count = data + 2 * n - 1;
  float before = 0.0f;
  if (kWithout == Without::kFenceAfterWrites) __threadfence();
  data[blockIdx.x * kThreads + t] = 2.0f;
  if (kWithout != Without::kBarrierBefore) __syncthreads();
  if (t == 0) {
    if (kWithout == Without::kFenceOfDevice) {
      __threadfence_block();
    } else if (kWithout != Without::kFenceBefore && kWithout != Without::kFenceAfterWrites) {
      __threadfence();
    }
    before = kWithout == Without::kAtomic ? static_cast<float>(gridDim.x) : atomicAdd(count, 1.0f);
    if (kWithout != Without::kFenceAfter) __threadfence();
  }
  if (kWithout != Without::kBarrierAfter) __syncthreads();
  if (__shfl_sync((1u << kThreads) - 1, before, 0) == static_cast<float>(gridDim.x))
    data[static_cast<unsigned>(n) + t] = data[t ^ 1u] + data[kThreads + (t ^ 1u)];
}
// As last_block_reads_all(), but the last block sets the counter back by a plain write, which is
// ordered too.
__global__ void last_block_resets_the_counter(float* data, int n) {
  float* const count = data + 2 * n - 1;
  __threadfence();
  if (atomicAdd(count, 1.0f) != static_cast<float>(gridDim.x)) return;
  __threadfence();
  *count = 1.0f;
}

void read_freed() {
  float* data = nullptr;
  cudaMalloc(&data, 64 * sizeof(float));
  cudaFree(data);
  launch({.name = "tiny", .block = dim3(1)}, nullptr, read_two, data, 32);
}
void write_host_memory() {
  std::vector<float> host(64);
  launch({.name = "tiny", .block = dim3(1)}, nullptr, read_two, host.data(), 32);
}
void copy_past_end() {
  const DeviceArray<float> data(8);
  std::vector<float> host(9);
  cudaMemcpy(data.data(), host.data(), 9 * sizeof(float), cudaMemcpyHostToDevice);
}

// ---- Shared memory ----

__global__ void shared_past_end(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[2 * n] = data[0];
}
__global__ void variable_past_end(float* data, int n) {
  REPRISE_SHARED(float[32], values);
  values[n] = data[0];
}
__global__ void read_never_written(float* data, int n) {
  float* shared = dynamic_shared<float>();
  if (threadIdx.x == 0) shared[1] = data[0];
  __syncthreads();
  data[threadIdx.x] = shared[n];
}
// Reads shared memory that only an earlier block has written.
__global__ void read_of_earlier_block(float* data, int n) {
  float* shared = dynamic_shared<float>();
  if (blockIdx.x == 0) shared[n] = data[0];
  data[0] = shared[n];
}
__global__ void write_write(float*, int n) {
  dynamic_shared<float>()[n] = static_cast<float>(threadIdx.x);
}
__global__ void write_read(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = 0.0f;
  __syncthreads();
  shared[threadIdx.x] = 1.0f;
  data[threadIdx.x] = shared[(static_cast<int>(threadIdx.x) + 1) % n];
}
__global__ void read_write(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = 1.0f;
  __syncthreads();
  data[threadIdx.x] = shared[0];
  if (static_cast<int>(threadIdx.x) == n) shared[0] = 2.0f;
}
// A shuffle lets the lanes of a warp meet, but does not order memory accesses.
__global__ void shuffle_between(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = __shfl_sync(kAllLanes, 1.0f, n - 32);
  const float one = __shfl_sync(kAllLanes, 1.0f, n - 32);
  data[threadIdx.x] = shared[threadIdx.x ^ 1u] + one;
}
__global__ void warp_barrier_between_warps(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = 0.0f;
  __syncthreads();
  shared[threadIdx.x] = 1.0f;
  __syncwarp();
  data[threadIdx.x] = shared[static_cast<int>(threadIdx.x) ^ n];
}
__global__ void atomic_and_plain(float* data, int n) {
  float* shared = dynamic_shared<float>();
  if (threadIdx.x == 0) shared[n] = 0.0f;
  __syncthreads();
  atomicAdd(&shared[n], 1.0f);
  data[threadIdx.x] = shared[n];
}
__global__ void local_of_another(float* data, int n) {
  float* local[1];
  float own = data[n];
  float** shared = dynamic_shared<float*>();
  local[0] = &own;
  if (threadIdx.x == 0) shared[0] = local[0];
  __syncthreads();
  if (threadIdx.x == 1) *shared[0] = 3.0f;
  __syncthreads();
  data[threadIdx.x] = own;
}

__global__ void barrier_in_place(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  const float other = shared[static_cast<int>(threadIdx.x) ^ n];
  __syncthreads();
  shared[threadIdx.x] = other;
}
__global__ void warp_barrier_in_place(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = data[threadIdx.x];
  __syncwarp();
  const float other = shared[threadIdx.x ^ 1u];
  __syncwarp();
  shared[threadIdx.x ^ 1u] = other + static_cast<float>(n);
}
__global__ void atomics_alone(float* data, int n) {
  REPRISE_SHARED(int, count);
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, n);
  __syncthreads();
  data[threadIdx.x] = static_cast<float>(count);
}

// ---- Barriers and warps ----

__global__ void some_return(float* data, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
  data[threadIdx.x] = 0.0f;
}
__global__ void first_return(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) return;
  __syncthreads();
  data[threadIdx.x] = 0.0f;
}
__global__ void two_barriers(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) {
    __syncthreads();
  } else {
    data[threadIdx.x] = 0.0f;
    __syncthreads();
  }
}
__global__ void lane_not_in_mask(float* data, int n) {
  data[threadIdx.x] = __shfl_sync(0x7fffffffu, data[threadIdx.x], n - 32);
}
__global__ void lane_reads_outside(float* data, int n) {
  if (threadIdx.x < 16) data[threadIdx.x] = __shfl_sync(0x0000ffffu, data[threadIdx.x], n - 1);
}
__global__ void lanes_do_two_things(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n / 2) {
    data[threadIdx.x] = __shfl_xor_sync(kAllLanes, data[threadIdx.x], 1);
  } else {
    data[threadIdx.x] = static_cast<float>(__ballot_sync(kAllLanes, 1));
  }
}
__global__ void two_masks(float* data, int n) {
  const unsigned mask = static_cast<int>(threadIdx.x) < n / 2 ? kAllLanes : 0xffff0000u;
  data[threadIdx.x] = static_cast<float>(__ballot_sync(mask, 1));
  __syncwarp();
}
__global__ void wait_for_each_other(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n / 2) {
    __syncwarp();
  } else {
    __syncthreads();
  }
  data[threadIdx.x] = 0.0f;
}
__global__ void product_in_two_branches(float* data, int n) {
  float c[4] = {};
  const uint32_t a[4] = {}, b[2] = {};
  if (static_cast<int>(threadIdx.x) < n / 2) {
    multiply_add<__half>(c, a, b);
    data[0] = c[0];
  } else {
    multiply_add<__half>(c, a, b);
    data[32] = c[1];
  }
}
__global__ void product_of_half_a_warp(float* data, int n) {
  float c[4] = {};
  const uint32_t a[4] = {}, b[2] = {};
  if (static_cast<int>(threadIdx.x) >= n / 2) return;
  multiply_add<__half>(c, a, b);
  data[threadIdx.x] = c[0];
}
__global__ void half_a_warp_votes(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n / 2)
    data[threadIdx.x] = static_cast<float>(__ballot_sync(0x0000ffffu, 1));
}

// ---- Matrices ----

__global__ void matrix_row_unaligned(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = shared[threadIdx.x + 32] = 0.0f;
  __syncwarp();
  uint32_t registers[1];
  load_matrices(registers, shared + n - 32 + 2 * (threadIdx.x % 8));
  data[threadIdx.x] = __uint_as_float(registers[0]);
}
__global__ void matrix_row_in_global(float* data, int n) {
  uint32_t registers[1];
  load_matrices(registers, data + (n - 32) + 4 * (threadIdx.x % 8));
  data[threadIdx.x] = __uint_as_float(registers[0]);
}
__global__ void matrix_not_written(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = data[n];
  __syncwarp();
  uint32_t registers[2];  // the second matrix lies behind what is written
  load_matrices(registers, shared + 4 * (threadIdx.x % 16));
  data[threadIdx.x] = __uint_as_float(registers[1]);
}
__global__ void matrix_without_barrier(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = data[n];
  uint32_t registers[1];
  load_matrices(registers, shared + 4 * (threadIdx.x % 8));
  data[threadIdx.x] = __uint_as_float(registers[0]);
}

// ---- Asynchronous copies ----

__global__ void read_before_wait(float* data, int n) {
  float* shared = dynamic_shared<float>();
  copy_async<4>(shared + threadIdx.x, data + threadIdx.x);
  copy_async_commit();
  data[n + threadIdx.x] = shared[threadIdx.x];
}
// The copy is in the later of two groups, but the kernel waits only for the earlier one.
__global__ void wait_for_the_other_group(float* data, int n) {
  float* shared = dynamic_shared<float>();
  copy_async_commit();
  copy_async<4>(shared + threadIdx.x, data + threadIdx.x);
  copy_async_commit();
  copy_async_wait<1>();
  data[n + threadIdx.x] = shared[threadIdx.x];
}
__global__ void wait_without_commit(float* data, int n) {
  float* shared = dynamic_shared<float>();
  copy_async<4>(shared + threadIdx.x, data + threadIdx.x);
  copy_async_wait<0>();
  data[n + threadIdx.x] = shared[threadIdx.x];
}
__global__ void wait_but_no_barrier(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = 0.0f;
  __syncthreads();
  copy_async<4>(shared + threadIdx.x, data + threadIdx.x);
  copy_async_commit();
  copy_async_wait<0>();
  data[n + threadIdx.x] = shared[threadIdx.x ^ 1u];
}
// Thread n - 1 comes to the barrier last and goes on at once, so n - 2 is the last to read.
__global__ void copy_over_what_is_read(float* data, int n) {
  float* shared = dynamic_shared<float>();
  shared[threadIdx.x] = 1.0f;
  __syncthreads();
  data[n + threadIdx.x] = shared[0];
  if (static_cast<int>(threadIdx.x) == n - 2) copy_async<4>(shared, data);
}
__global__ void copy_unaligned(float* data, int n) {
  copy_async<16>(dynamic_shared<float>(), data + n + 1);
}
__global__ void copy_to_unaligned(float* data, int n) {
  copy_async<8>(dynamic_shared<float>() + 1, data + n);
}
__global__ void copy_from_past_end(float* data, int n) {
  copy_async<16>(dynamic_shared<float>(), data + 2 * n);
}
__global__ void copy_to_past_end(float* data, int n) {
  copy_async<16>(dynamic_shared<float>() + 2 * n, data);
}

__global__ void copies_in_place(float* data, int n) {
  float* shared = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  copy_async<4>(shared + t, data + t);
  copy_async_commit();
  copy_async<4>(shared + n + t, data + 2 * n, 0);  // nothing is read from behind the end
  copy_async_commit();
  copy_async_wait<1>();
  __syncthreads();
  const float first = shared[t ^ 1u];
  copy_async_wait<0>();
  __syncthreads();
  data[n + t] = first + shared[static_cast<unsigned>(n) + (t ^ 1u)];
}

// ---- Launches ----

__global__ void too_many_variables(float* data, int n) {
  REPRISE_SHARED(float[12 * 1024 + 1], values);
  values[n] = data[0];
}

// ---- wgmma ----

__device__ void multiply_shared(const void* shared, int columns) {
  const uint32_t a[4] = {0, 0, 0, 0};
  float sums[8][4] = {};
  warpgroup_multiply_add<__half, RowsOfB::kColumnsOfProduct>(
      sums, a, swizzled_matrix(shared, 0, columns * kSwizzledBytes));
  warpgroup_commit();
  warpgroup_wait<0>(sums);
}
__device__ void write_shared(int n) {
  auto* shared = dynamic_shared<float>();
  for (int i = static_cast<int>(threadIdx.x); i < 64 * 32; i += static_cast<int>(blockDim.x))
    shared[i] = static_cast<float>(n);
}
__device__ void begin_warpgroup() {
  float none[8][4];
  warpgroup_begin(none);
}
__global__ void wgmma_without_proxy_fence(float*, int n) {
  write_shared(n);
  __syncthreads();
  begin_warpgroup();
  multiply_shared(dynamic_shared<float>(), 8);
}
__global__ void wgmma_fenced_before_the_write(float*, int n) {
  fence_async_proxy();
  write_shared(n);
  __syncthreads();
  begin_warpgroup();
  multiply_shared(dynamic_shared<float>(), 8);
}
__global__ void wgmma_without_barrier(float*, int n) {
  write_shared(n);
  fence_async_proxy();
  __syncthreads();
  write_shared(n);
  fence_async_proxy();
  begin_warpgroup();
  multiply_shared(dynamic_shared<float>(), 8);
}
__global__ void wgmma_without_fence(float*, int n) {
  write_shared(n);
  fence_async_proxy();
  __syncthreads();
  multiply_shared(dynamic_shared<float>(), 8);
}
// Writes to the registers of A between the start of a product and the wait.
__device__ void write_registers_meanwhile(unsigned value) {
  uint32_t a[4] = {};
  float sums[8][4] = {};
  warpgroup_begin(sums);
  warpgroup_multiply_add<__half, RowsOfB::kColumnsOfProduct>(
      sums, a, swizzled_matrix(dynamic_shared<float>(), 0, 8 * kSwizzledBytes));
  warpgroup_commit();
  a[3] = value;
  warpgroup_wait<0>(sums);
}
__global__ void wgmma_registers_change(float*, int n) {
  write_shared(n);
  fence_async_proxy();
  __syncthreads();
  write_registers_meanwhile(static_cast<unsigned>(n));
}
__global__ void wgmma_past_end(float*, int n) {
  write_shared(n);
  fence_async_proxy();
  __syncthreads();
  begin_warpgroup();
  multiply_shared(dynamic_shared<float>(), 16);
}
__global__ void wgmma_in_place(float*, int n) {
  write_shared(n);
  fence_async_proxy();
  __syncthreads();
  begin_warpgroup();
  multiply_shared(dynamic_shared<float>(), 8);
}

constexpr FaultyKernel kFaulty[] = {
    {"read_past_end", kOutOfBounds, "byte 256 of buffer", run<read_past_end, 32>},
    {"write_before_begin", kOutOfBounds, "writes 4 bytes", run<write_before_begin, 32>},
    {"read_unaligned", kUnaligned, "multiple of 16", run<read_unaligned, 1>},
    {"write_unaligned", kUnaligned, "multiple of 16", run<write_unaligned, 1>},
    {"load_once_unaligned", kUnaligned, "multiple of 16", run<load_once_unaligned, 1>},
    {"load_once_past_end", kOutOfBounds, "reads 16 bytes", run<load_once_past_end, 1>},
    {"all_write", kRace, "wrote it in the same launch", run<all_write, 2>},
    {"all_blocks_write", kRace, "of another block", run<all_write, 1, 64, 2>},
    {"no_barrier_before_the_arrival", kRace, "of another block",
     run<last_block_reads_all<Without::kBarrierBefore>, 16, 64, 2>},
    {"no_fence_before_the_arrival", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kFenceBefore>, 16, 64, 2>},
    {"fence_of_the_block", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kFenceOfDevice>, 16, 64, 2>},
    {"fence_before_the_writes", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kFenceAfterWrites>, 16, 64, 2>},
    {"no_fence_after_the_arrival", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kFenceAfter>, 16, 64, 2>},
    {"no_barrier_after_the_arrival", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kBarrierAfter>, 16, 64, 2>},
    {"fences_without_atomic", kRace, "no fences and atomic",
     run<last_block_reads_all<Without::kAtomic>, 16, 64, 2>},
    {"read_what_another_wrote", kRace, "with no barrier", run<read_what_another_wrote, 32>},
    {"read_freed", kFreed, "which is freed", read_freed},
    {"write_host_memory", kOutOfBounds, "reads 4 bytes", write_host_memory},
    {"copy_past_end", kOutOfBounds, "cudaMemcpy to the device", copy_past_end},
    {"shared_past_end", kOutOfBounds, "byte 256 of the dynamic shared memory of 256 bytes",
     run<shared_past_end, 1>},
    {"variable_past_end", kOutOfBounds, "byte 128 of a shared variable of 128 bytes",
     run<variable_past_end, 1>},
    {"read_never_written", kUninitialized, "byte 128", run<read_never_written, 32>},
    {"read_of_earlier_block", kUninitialized, "block (1, 0, 0)",
     run<read_of_earlier_block, 1, 64, 2>},
    {"write_write", kRace, "wrote it too", run<write_write, 2>},
    {"write_read", kRace, "with no barrier in between", run<write_read, 32>},
    {"read_write", kRace, "read by others", run<read_write, 64>},
    {"shuffle_between", kRace, "wrote it", run<shuffle_between, 32>},
    {"warp_barrier_between_warps", kRace, "with no barrier in between",
     run<warp_barrier_between_warps, 64>},
    {"atomic_and_plain", kRace, "updates atomically", run<atomic_and_plain, 32>},
    {"local_of_another", kOutOfBounds, "beyond its own local memory", run<local_of_another, 2>},
    {"some_return", kBarrier, "returns while others wait", run<some_return, 64>},
    {"first_return", kBarrier, "can no longer reach", run<first_return, 64>},
    {"two_barriers", kBarrier, "while others wait at the one", run<two_barriers, 64>},
    {"lane_not_in_mask", kWarp, "thread (31, 0, 0)", run<lane_not_in_mask, 32>},
    {"lane_reads_outside", kWarp, "reads lane 31", run<lane_reads_outside, 32>},
    {"lanes_do_two_things", kWarp, "does __ballot_sync", run<lanes_do_two_things, 32>},
    {"two_masks", kWarp, "with mask 0xffff0000", run<two_masks, 32>},
    {"wait_for_each_other", kDeadlock, "and 28 more", run<wait_for_each_other, 32>},
    {"product_in_two_branches", kWarp, "mma", run<product_in_two_branches, 32>},
    {"product_of_half_a_warp", kWarp, "mma", run<product_of_half_a_warp, 32>},
    {"product_of_half_a_block", kWarp, "only 0x0000ffff", run<product_of_half_a_warp, 16>},
    {"matrix_row_unaligned", kUnaligned, "ldmatrix reads row 1", run<matrix_row_unaligned, 32>},
    {"matrix_row_in_global", kOutOfBounds, "not in shared memory", run<matrix_row_in_global, 32>},
    {"matrix_not_written", kUninitialized, "matrix 1", run<matrix_not_written, 32>},
    {"matrix_without_barrier", kRace, "ldmatrix", run<matrix_without_barrier, 32>},
    {"read_before_wait", kInFlight, "has not waited", run<read_before_wait, 32>},
    {"wait_for_the_other_group", kInFlight, "has not waited", run<wait_for_the_other_group, 32>},
    {"wait_without_commit", kInFlight, "has not waited", run<wait_without_commit, 32>},
    {"wait_but_no_barrier", kRace, "with no barrier in between", run<wait_but_no_barrier, 32>},
    {"copy_over_what_is_read", kRace, "read by others", run<copy_over_what_is_read, 32>},
    {"copy_unaligned", kUnaligned, "multiple of 16", run<copy_unaligned, 1>},
    {"copy_to_unaligned", kUnaligned, "multiple of 8", run<copy_to_unaligned, 1>},
    {"copy_from_past_end", kOutOfBounds, "of buffer", run<copy_from_past_end, 1>},
    {"copy_to_past_end", kOutOfBounds, "dynamic shared memory", run<copy_to_past_end, 1>},
    {"wgmma_without_proxy_fence", kRace, "fence.proxy.async",
     run<wgmma_without_proxy_fence, 128, 2048>},
    {"wgmma_fenced_before_the_write", kRace, "fence.proxy.async",
     run<wgmma_fenced_before_the_write, 128, 2048>},
    {"wgmma_without_barrier", kRace, "with no barrier in between",
     run<wgmma_without_barrier, 128, 2048>},
    {"wgmma_without_fence", kWarp, "wgmma.fence", run<wgmma_without_fence, 128, 2048>},
    {"wgmma_registers_change", kWarp, "registers of A", run<wgmma_registers_change, 128, 2048>},
    {"wgmma_past_end", kOutOfBounds, "dynamic shared memory", run<wgmma_past_end, 128, 2048>},
    {"wgmma_of_half_a_group", kWarp, "no whole warpgroups", run<wgmma_in_place, 64, 2048>},
    {"too_many_threads", kLaunch, "1025 x 1 x 1 threads", run<read_two, 1025>},
    {"no_threads", kLaunch, "0 x 1 x 1 threads", run<read_two, 0>},
    {"too_much_shared_memory", kLaunch, "232452 bytes", run<read_two, 1, 58113>},
    {"too_many_variables", kLaunch, "49156 bytes of shared variables", run<too_many_variables, 1>},
};

constexpr CleanKernel kClean[] = {
    {"barrier_in_place", run<barrier_in_place, 64>},
    {"warp_barrier_in_place", run<warp_barrier_in_place, 64>},
    {"atomics_alone", run<atomics_alone, 64>},
    {"half_a_warp_votes", run<half_a_warp_votes, 32>},
    {"copies_in_place", run<copies_in_place, 32>},
    {"wgmma_in_place", run<wgmma_in_place, 128, 2048>},
    {"one_thread", run<read_two, 1>},
    {"most_threads", run<write_own, 1024>},
    {"barrier_between", run<barrier_between, 32>},
    {"atomics_of_blocks", run<atomics_of_blocks, 64, 64, 3>},
    {"last_block_reads_all", run<last_block_reads_all<Without::kNothing>, 16, 64, 2>},
    {"last_block_resets_the_counter", run<last_block_resets_the_counter, 1, 64, 3>},
    {"most_shared_memory", run<read_two, 1, 58112>},
};

}  // namespace

std::span<const FaultyKernel> faulty_kernels() { return kFaulty; }
std::span<const CleanKernel> clean_kernels() { return kClean; }

}  // namespace reprise::kernels::cuda::faulty
