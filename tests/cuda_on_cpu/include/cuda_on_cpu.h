// The functions of the emulator that core/kernels/shared/cuda/ptx.cuh and launch.cuh call. One
// launch runs at a time, on the calling thread, block after block. Each thread of a block is a
// fiber.
//
// Sources that hold kernels are compiled with -fsanitize=thread,alignment and linked without the
// sanitizers' runtime: their hooks are the emulator's, and check every access to memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "tests/cuda_on_cpu/fault.h"
#include "tests/cuda_on_cpu/machine.h"
#include "tests/cuda_on_cpu/vector_types.h"

namespace cuda_on_cpu {

struct Launch {
  const char* name = "";
  dim3 grid, block;
  size_t shared_bytes = 0;  // dynamic
  // May run beside the kernels before it, until a thread calls await_previous_kernels().
  bool begins_early = false;
};

// The order in which the blocks of a launch run and the threads of a block are resumed. A kernel's
// result must not depend on it.
// The default comes from the environment variable CUDA_ON_CPU_ORDER (forward, backward or
// random:SEED), or is forward.
enum class Order : uint8_t { kForward, kBackward, kRandom };
// With kRandom, each launch draws from `seed` the order of its blocks and which thread goes on
// next.
void set_order(Order order, uint64_t seed = 0);

// Runs call(parameters) in every thread of the grid. The kernel can read `parameters`, as on a
// device. Throws the first Fault that is reported; what the kernel has written by then stays.
void run_grid(const Launch& launch, void* parameters, size_t parameter_bytes,
              void (*call)(void* parameters));

template <typename... Parameters, typename... Arguments>
void launch(const Launch& shape, cudaStream_t stream, void (*kernel)(Parameters...),
            Arguments&&... args) {
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> parameters;
  } call{kernel, {static_cast<Parameters>(std::forward<Arguments>(args))...}};
  run_in(stream, [shape, call]() mutable {
    run_grid(shape, &call, sizeof call, [](void* state) {
      const Call& in_thread = *static_cast<const Call*>(state);
      std::apply(in_thread.kernel, in_thread.parameters);
    });
  });
}

// ---- Inside a kernel ----

// Start of the block's dynamic shared memory.
void* dynamic_shared();
// The block's shared variable of this key. The first thread that asks makes it, uninitialized.
void* shared_variable(const void* key, size_t bytes, size_t alignment);
template <typename T>
T& shared_variable(const void* key) {
  return *static_cast<T*>(shared_variable(key, sizeof(T), alignof(T)));
}

// See the functions of ptx.cuh.
void await_previous_kernels();
void copy_async(void* shared, const void* global, int bytes, int source_bytes);
void copy_async_commit();
void copy_async_wait(int most_pending);
void load_matrices(uint32_t* registers, int matrices, const void* shared_row, bool is_transposed);
void multiply_add_m16n8k16(float* c, const uint32_t* a, const uint32_t* b, bool is_bf16);
uint32_t shared_address(const void* shared);
void fence_async_proxy();
void warpgroup_begin();
// A lane's part of a wgmma.
struct WarpgroupProduct {
  float* c = nullptr;  // [tiles][4]  the lane's sums, which change in warpgroup_wait() alone
  int tiles = 0;
  std::array<uint32_t, 4> a{};
  const uint32_t* registers_of_a = nullptr;  // where `a` must stay until the wait
  uint64_t shared_a = 0;                     // in place of `a`, if it is not 0
  uint64_t b = 0;
  bool is_transposed = false, is_bf16 = false, accumulates = false;
};
void warpgroup_multiply(const WarpgroupProduct& product);
void warpgroup_commit();
void warpgroup_wait(int most_pending);
void barrier_init(const void* barrier, unsigned arrivals);
void barrier_arrive(const void* barrier);
void barrier_arrive_expecting(const void* barrier, unsigned bytes);
void barrier_wait(const void* barrier, unsigned parity);
// The contents of a tensor map (core/kernels/attention/cuda/tensor_map.h) in the emulator.
struct MappedRows {
  const std::byte* rows = nullptr;
  int64_t row_bytes = 0;
};
void copy_box_async(void* shared, const void* map, int column, int row, const void* barrier);
float exp2_approx(float x);
uint4 load_global_16(const void* global);
uint32_t pack_pair(float low, float high, bool is_bf16);
uint32_t multiply_add_pairs(uint32_t a, uint32_t b, uint32_t c, bool is_bf16);

}  // namespace cuda_on_cpu
