// The PTX instructions that the kernels use, one function each. No other file has inline assembly.
//
// Every function has two bodies. The body for nvcc is the instruction. The body for a C++ compiler
// (REPRISE_CUDA_ON_CPU) calls the emulator of tests/cuda_on_cpu, which does what the PTX manual
// says and reports what the manual forbids. Pointers "to shared memory" are generic pointers into
// it.
//
// Fragments of a warp's matrices: lane = threadIdx.x % 32 in a warp whose 32 lanes all take part, g
// = lane / 4, t = lane % 4. A register holds two 16-bit elements, the first in its lower half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#ifdef REPRISE_CUDA_ON_CPU
#include <cuda_on_cpu.h>
#endif

// REPRISE_UNROLL before a loop unrolls it: a thread's arrays are in registers only if every index
// is a compile-time constant. REPRISE_KEEP_ROLLED keeps a loop from being unrolled, to save
// registers. REPRISE_CALLED makes a function a call, so that it does not change the registers of
// the code around it.
#ifdef REPRISE_CUDA_ON_CPU
#define REPRISE_UNROLL
#define REPRISE_KEEP_ROLLED
#define REPRISE_CALLED __attribute__((noinline))
#else
#define REPRISE_CALLED __noinline__
#define REPRISE_UNROLL _Pragma("unroll")
#define REPRISE_KEEP_ROLLED _Pragma("unroll 1")
#endif

namespace reprise::kernels::cuda {

// True if the code being compiled may use wgmma.
#if defined(REPRISE_CUDA_ON_CPU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool kHasWarpgroups = true;
#else
inline constexpr bool kHasWarpgroups = false;
#endif

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kWarp = 32;

// The two 16-bit types that tensor cores multiply.
template <typename T>
inline constexpr bool is_half_like = std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>;

#ifndef REPRISE_CUDA_ON_CPU
// The 32-bit address that shared-memory instructions take.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

// ---- Kernels that overlap: griddepcontrol (PTX ISA, "Parallel Synchronization and Communication
// Instructions"), see LaunchShape::begins_early ----

// Waits until all kernels before this one in the stream have ended and what they wrote is visible.
__device__ __forceinline__ void await_previous_kernels() {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::await_previous_kernels();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

// Lets the blocks of the stream's next kernel start once every block of this kernel has called this
// function.
__device__ __forceinline__ void let_next_kernel_begin() {
#if !defined(REPRISE_CUDA_ON_CPU) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}

// ---- Asynchronous copies: cp.async (PTX ISA, "Data Movement and Conversion: cp.async") ----

// Starts to copy kBytes (4, 8 or 16) bytes from global to shared memory; both addresses are
// multiples of kBytes. Reads only the first `source_bytes` bytes and zeroes the rest of the target;
// if source_bytes is 0, `global` may be invalid. Copies of 16 bytes bypass L1 (.cg), and L2 fetches
// their whole line of 128 bytes. The copying thread sees the bytes after it has waited for the
// copy's group; other threads see them after a barrier that follows this wait.
template <int kBytes>
__device__ __forceinline__ void copy_async(void* shared, const void* global,
                                           int source_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::copy_async(shared, global, kBytes, source_bytes);
#else
  if constexpr (kBytes == 16) {
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)),
        "l"(global), "r"(source_bytes)
        : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(shared_address(shared)),
                 "l"(global), "n"(kBytes), "r"(source_bytes)
                 : "memory");
  }
#endif
}

// Puts the copies that this thread started since its last commit into a group, which may be empty.
__device__ __forceinline__ void copy_async_commit() {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::copy_async_commit();
#else
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

// Waits until at most the latest kPending groups of this thread are unfinished.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  static_assert(kPending >= 0);
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::copy_async_wait(kPending);
#else
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
#endif
}

// ---- Matrices from shared memory: ldmatrix (PTX ISA, "Warp Level Matrix Instructions") ----

// Loads kMatrices (1, 2 or 4) matrices of 8 x 8 16-bit elements. Row r of matrix i is the 16 bytes
// at the pointer that lane 8 i + r passes, a multiple of 16; pointers of lanes from 8 * kMatrices
// on are ignored. Register i of lane (g, t) then holds elements (g, 2 t) and (g, 2 t + 1) of matrix
// i.
template <int kMatrices>
__device__ __forceinline__ void load_matrices(uint32_t (&registers)[kMatrices],
                                              const void* shared_row) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::load_matrices(registers, kMatrices, shared_row, /*is_transposed=*/false);
#else
  const uint32_t row = shared_address(shared_row);
  if constexpr (kMatrices == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\n"
                 : "=r"(registers[0])
                 : "r"(row)
                 : "memory");
  } else if constexpr (kMatrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(row)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(row)
                 : "memory");
  }
#endif
}

// Does what load_matrices() does, but transposes each matrix: register i of lane (g, t) then holds
// elements (2 t, g) and (2 t + 1, g) of matrix i.
template <int kMatrices>
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&registers)[kMatrices],
                                                         const void* shared_row) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::load_matrices(registers, kMatrices, shared_row, /*is_transposed=*/true);
#else
  const uint32_t row = shared_address(shared_row);
  if constexpr (kMatrices == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];\n"
                 : "=r"(registers[0])
                 : "r"(row)
                 : "memory");
  } else if constexpr (kMatrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(row)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(row)
                 : "memory");
  }
#endif
}

// ---- Matrix products: mma.sync.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16") ----

// C += A B of one warp; A [16, 16] and B [16, 8] of T (__nv_bfloat16 or __half), C [16, 8] f32.
//   a[0]  A(g,     2 t), A(g,     2 t + 1)        a[2]  A(g,     2 t + 8), A(g,     2 t + 9)
//   a[1]  A(g + 8, 2 t), A(g + 8, 2 t + 1)        a[3]  A(g + 8, 2 t + 8), A(g + 8, 2 t + 9)
//   b[0]  B(2 t, g), B(2 t + 1, g)                b[1]  B(2 t + 8, g), B(2 t + 9, g)
//   c[0]  C(g, 2 t)   c[1]  C(g, 2 t + 1)         c[2]  C(g + 8, 2 t)   c[3]  C(g + 8, 2 t + 1)
// So load_matrices<4>() gives `a` if its four matrices are A's quarters in the order upper left,
// lower left, upper right, lower right. load_matrices<2>() gives `b` from the rows of B's transpose
// [8, 16] (left, right half), load_matrices_transposed<2>() from B's own rows (upper, lower half).
// Products are exact; the hardware determines the order and rounding of the sum.
template <typename T>
__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) {
  static_assert(is_half_like<T>);
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::multiply_add_m16n8k16(c, a, b, /*is_bf16=*/std::is_same_v<T, __nv_bfloat16>);
#else
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#endif
}

// ---- Products of a warpgroup: wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions"); only sm_90a. Four warps, the first of which has a number that
// is a multiple of 4, make all of these calls together. ----

// Layout of the 16-bit matrices that wgmma reads from shared memory: panels of rows of 128 bytes. A
// panel begins at a multiple of 1024 bytes. In row r of a panel, the 16-byte chunk i is at place i
// xor (r % 8), so that the chunks i of 8 neighbouring rows lie in different banks [128-byte
// swizzle].
inline constexpr int kSwizzledBytes = 128;
__device__ __forceinline__ constexpr unsigned swizzled_chunk(unsigned row, unsigned chunk) {
  return chunk ^ (row % 8);
}

// How B [16, n] is stored as rows in shared memory.
enum class RowsOfB : uint8_t {
  kColumnsOfProduct,  // row i holds B(0 .. 15, i), for keys
  kRowsOfProduct      // row i holds B(i, 0 .. n - 1), for values
};

// Returns the descriptor by which warpgroup_multiply_add() finds a matrix in shared memory. The
// matrix is B, stored in one of the two ways, or A, which is stored like kColumnsOfProduct.
// `shared` points to element (0, 0).
//   kColumnsOfProduct  16 elements of each row are read, all in one panel. stride_bytes: from
//                      8 rows to the next 8. leading_bytes is not used.
//   kRowsOfProduct     16 rows are read. stride_bytes: from 8 rows to the next 8. leading_bytes:
//                      from 64 columns to the next 64.
__device__ __forceinline__ uint64_t swizzled_matrix(const void* shared, int leading_bytes,
                                                    int stride_bytes) {
#ifdef REPRISE_CUDA_ON_CPU
  const uint32_t address = cuda_on_cpu::shared_address(shared);
#else
  const uint32_t address = shared_address(shared);
#endif
  const auto field = [](uint32_t bytes) { return static_cast<uint64_t>(bytes >> 4 & 0x3fffu); };
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return field(address) | field(static_cast<uint32_t>(leading_bytes)) << 16 |
         field(static_cast<uint32_t>(stride_bytes)) << 32 | kSwizzle128;
}

// Returns the descriptor of the matrix that begins `elements` elements of T after `matrix`, which
// swizzled_matrix() made. The distance is a number of whole panels, a multiple of 8 rows, or a
// place within the first row of the first panel.
template <typename T>
__device__ __forceinline__ constexpr uint64_t moved_matrix(uint64_t matrix, int elements) {
  return matrix + static_cast<uint64_t>(elements * static_cast<int>(sizeof(T)) / 16);
}

// Makes visible to wgmma what this thread wrote to shared memory, directly or by copies that it has
// waited for. Call it before the barrier after which wgmma reads these bytes.
__device__ __forceinline__ void fence_async_proxy() {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::fence_async_proxy();
#else
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}

#ifndef REPRISE_CUDA_ON_CPU
// The wgmma instruction for 64 and 128 columns (N64, N128), with type "bf16" or "f16". A is in
// registers or, in the SHARED forms, in shared memory and described as B is. The operands are the
// sums, A, B, accumulates and kIsTransposed.
#define REPRISE_SUMS(j_) "+f"(c[j_][0]), "+f"(c[j_][1]), "+f"(c[j_][2]), "+f"(c[j_][3])
#define REPRISE_SUMS_N64                                                               \
  REPRISE_SUMS(0), REPRISE_SUMS(1), REPRISE_SUMS(2), REPRISE_SUMS(3), REPRISE_SUMS(4), \
      REPRISE_SUMS(5), REPRISE_SUMS(6), REPRISE_SUMS(7)
#define REPRISE_SUMS_N128                                                                 \
  REPRISE_SUMS_N64, REPRISE_SUMS(8), REPRISE_SUMS(9), REPRISE_SUMS(10), REPRISE_SUMS(11), \
      REPRISE_SUMS(12), REPRISE_SUMS(13), REPRISE_SUMS(14), REPRISE_SUMS(15)
#define REPRISE_SUM_NAMES_N64                \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define REPRISE_SUM_NAMES_N128               \
  REPRISE_SUM_NAMES_N64                      \
  ", "                                       \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define REPRISE_WGMMA(columns_, type_, names_, sums_, a_b_, accumulates_, transposed_, ...) \
  asm volatile(                                                                             \
      "{\n"                                                                                 \
      ".reg .pred accumulate;\n"                                                            \
      "setp.ne.b32 accumulate, " accumulates_                                               \
      ", 0;\n"                                                                              \
      "wgmma.mma_async.sync.aligned.m64n" columns_ "k16.f32." type_ "." type_ " {" names_   \
      "}, " a_b_ ", accumulate, 1, 1, " transposed_                                         \
      ";\n"                                                                                 \
      "}\n"                                                                                 \
      : sums_                                                                               \
      : __VA_ARGS__, "l"(b), "r"(accumulates), "n"(kIsTransposed))
#define REPRISE_WGMMA_N64(type_)                                                                   \
  REPRISE_WGMMA("64", type_, REPRISE_SUM_NAMES_N64, REPRISE_SUMS_N64, "{%32, %33, %34, %35}, %36", \
                "%37", "%38", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))
#define REPRISE_WGMMA_N128(type_)                                                           \
  REPRISE_WGMMA("128", type_, REPRISE_SUM_NAMES_N128, REPRISE_SUMS_N128,                    \
                "{%64, %65, %66, %67}, %68", "%69", "%70", "r"(a[0]), "r"(a[1]), "r"(a[2]), \
                "r"(a[3]))
#define REPRISE_WGMMA_SHARED_N64(type_)                                                            \
  REPRISE_WGMMA("64", type_, REPRISE_SUM_NAMES_N64, REPRISE_SUMS_N64, "%32, %33", "%34", "0, %35", \
                "l"(a))
#define REPRISE_WGMMA_SHARED_N128(type_)                                                    \
  REPRISE_WGMMA("128", type_, REPRISE_SUM_NAMES_N128, REPRISE_SUMS_N128, "%64, %65", "%66", \
                "0, %67", "l"(a))

// Keeps the compiler from moving accesses to the sums across the call.
template <int kTiles>
__device__ __forceinline__ void hold(float (&c)[kTiles][4]) {
  REPRISE_UNROLL
  for (int j = 0; j < kTiles; ++j) {
    REPRISE_UNROLL
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[j][i])::"memory");
  }
}
#endif

// Call it after the registers of `c` and `a` have been written, and before products with these
// registers are started.
template <typename... Sums>
__device__ __forceinline__ void warpgroup_begin(Sums&... c) {
#ifdef REPRISE_CUDA_ON_CPU
  (static_cast<void>(c), ...);
  cuda_on_cpu::warpgroup_begin();
#else
  (hold(c), ...);
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}

// Says how a product writes the sums C: kNew overwrites them, kAddTo adds to them.
enum class Sums : uint8_t { kNew, kAddTo };

// Starts C += A B or C = A B; A [64, 16] and B [16, n] of T, C [64, n] f32, n = 8 * kTiles: 64 or
// 128. Each warp has 16 rows of A and C as fragments: `a`, and c[j] for columns 8 j .. 8 j + 7, as
// in multiply_add(). `a` and `c` must not be touched until warpgroup_wait() has waited for this
// product.
template <typename T, RowsOfB kRows, int kTiles>
__device__ __forceinline__ void warpgroup_multiply_add(float (&c)[kTiles][4],
                                                       const uint32_t (&a)[4], uint64_t b,
                                                       Sums sums = Sums::kAddTo) {
  static_assert(is_half_like<T> && (kTiles == 8 || kTiles == 16));
  constexpr bool kIsBf16 = std::is_same_v<T, __nv_bfloat16>;
  constexpr int kIsTransposed = kRows == RowsOfB::kRowsOfProduct ? 1 : 0;
  const int accumulates = sums == Sums::kAddTo ? 1 : 0;
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::warpgroup_multiply({.c = &c[0][0],
                                   .tiles = kTiles,
                                   .a = {a[0], a[1], a[2], a[3]},
                                   .registers_of_a = &a[0],
                                   .b = b,
                                   .is_transposed = kIsTransposed != 0,
                                   .is_bf16 = kIsBf16,
                                   .accumulates = accumulates != 0});
#else
  if constexpr (kTiles == 8) {
    if constexpr (kIsBf16) {
      REPRISE_WGMMA_N64("bf16");
    } else {
      REPRISE_WGMMA_N64("f16");
    }
  } else {
    if constexpr (kIsBf16) {
      REPRISE_WGMMA_N128("bf16");
    } else {
      REPRISE_WGMMA_N128("f16");
    }
  }
#endif
}

// Does the same product, but with A [64, 16] in shared memory: `a` is a swizzled_matrix() of A's
// rows.
template <typename T, RowsOfB kRows, int kTiles>
__device__ __forceinline__ void warpgroup_multiply_add(float (&c)[kTiles][4], uint64_t a,
                                                       uint64_t b, Sums sums = Sums::kAddTo) {
  static_assert(is_half_like<T> && (kTiles == 8 || kTiles == 16));
  constexpr bool kIsBf16 = std::is_same_v<T, __nv_bfloat16>;
  constexpr int kIsTransposed = kRows == RowsOfB::kRowsOfProduct ? 1 : 0;
  const int accumulates = sums == Sums::kAddTo ? 1 : 0;
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::warpgroup_multiply({.c = &c[0][0],
                                   .tiles = kTiles,
                                   .shared_a = a,
                                   .b = b,
                                   .is_transposed = kIsTransposed != 0,
                                   .is_bf16 = kIsBf16,
                                   .accumulates = accumulates != 0});
#else
  if constexpr (kTiles == 8) {
    if constexpr (kIsBf16) {
      REPRISE_WGMMA_SHARED_N64("bf16");
    } else {
      REPRISE_WGMMA_SHARED_N64("f16");
    }
  } else {
    if constexpr (kIsBf16) {
      REPRISE_WGMMA_SHARED_N128("bf16");
    } else {
      REPRISE_WGMMA_SHARED_N128("f16");
    }
  }
#endif
}

#undef REPRISE_WGMMA_SHARED_N64
#undef REPRISE_WGMMA_SHARED_N128
#undef REPRISE_WGMMA_N64
#undef REPRISE_WGMMA_N128
#undef REPRISE_WGMMA
#undef REPRISE_SUM_NAMES_N128
#undef REPRISE_SUM_NAMES_N64
#undef REPRISE_SUMS_N128
#undef REPRISE_SUMS_N64
#undef REPRISE_SUMS

// Puts the products that the warpgroup started since its last commit into a group, which may be
// empty.
__device__ __forceinline__ void warpgroup_commit() {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::warpgroup_commit();
#else
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#endif
}

// Waits until at most the latest kPending groups are unfinished. `c` are the sums of the finished
// groups; they are valid afterwards.
template <int kPending, typename... Sums>
__device__ __forceinline__ void warpgroup_wait(Sums&... c) {
  static_assert(kPending >= 0);
#ifdef REPRISE_CUDA_ON_CPU
  (static_cast<void>(c), ...);
  cuda_on_cpu::warpgroup_wait(kPending);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
  (hold(c), ...);
#endif
}

// ---- Barriers of some threads: mbarrier (PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier") ----

// A barrier in shared memory, 8-byte aligned, that only these functions may touch. Its phases are
// numbered from 0. A phase is complete after `arrivals` calls of barrier_arrive(), and the next
// phase begins.
using SharedBarrier = uint64_t;

// Begins phase 0 of the barrier. One thread calls this once; other threads use the barrier only
// after a __syncthreads() that follows.
__device__ __forceinline__ void barrier_init(SharedBarrier* barrier, unsigned arrivals) {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::barrier_init(barrier, arrivals);
#else
  asm volatile("mbarrier.init.shared.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
#endif
}

// Counts as one arrival in the barrier's current phase. A thread that has waited for this phase
// sees what the arriving thread wrote before (release, in the block).
__device__ __forceinline__ void barrier_arrive(SharedBarrier* barrier) {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::barrier_arrive(barrier);
#else
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
#endif
}

// barrier_arrive(), which also makes the current phase wait for `bytes` bytes of copy_box_async().
// A call of copy_box_async() for this phase may come before it, as long as an arrival is missing.
// Only compute capability 9.0.
__device__ __forceinline__ void barrier_arrive_expecting(SharedBarrier* barrier, unsigned bytes) {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::barrier_arrive_expecting(barrier, bytes);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
#endif
}

// Waits until the latest phase whose parity is `parity` is complete (acquire, in the block). Phase
// k has parity k % 2. On a new barrier, parity 1 returns at once, as if a phase -1 were complete. A
// thread must wait for a phase before the next phase can complete.
__device__ __forceinline__ void barrier_wait(SharedBarrier* barrier, unsigned parity) {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::barrier_wait(barrier, parity);
#else
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "repeat:\n"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
      "mbarrier.test_wait.parity.shared.b64 complete, [%0], %1;\n"
#else
      "mbarrier.try_wait.parity.shared.b64 complete, [%0], %1;\n"  // may sleep meanwhile
#endif
      "@!complete bra repeat;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#endif
}

// ---- Copies of boxes by the tensor memory accelerator: cp.async.bulk.tensor (PTX ISA, "Data
// Movement and Conversion Instructions: Tensor copy"); compute capability 9.0 ----

// Starts to copy the box at (row, column) of a matrix in global memory, which `map` describes
// (attention/cuda/tensor_map.h), to shared memory: 8 rows of 128 bytes, swizzled as in
// swizzled_matrix(). One thread calls this for the whole box. `shared` is a multiple of 1024 bytes.
// The box has arrived when `barrier` completes the phase that expects its 1024 bytes; wgmma may
// then read it without a fence. `map` points into the kernel's parameters.
__device__ __forceinline__ void copy_box_async(void* shared, const void* map, int column, int row,
                                               SharedBarrier* barrier) {
#ifdef REPRISE_CUDA_ON_CPU
  cuda_on_cpu::copy_box_async(shared, map, column, row, barrier);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];\n" ::"r"(shared_address(shared)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
#endif
}

// raise_registers() and lower_registers() set the number of registers of each thread to kRegisters,
// a multiple of 8 from 24 to 256. All warps of a warpgroup call them. raise_registers() waits until
// other warps have lowered their numbers. Both do nothing except on sm_90a.
template <int kRegisters>
__device__ __forceinline__ void raise_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
#endif
}

template <int kRegisters>
__device__ __forceinline__ void lower_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
#endif
}

// ---- Single values ----

// 2^x with relative error 2^-22; results below 2^-126 are 0, NaN stays NaN (ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x) {
#ifdef REPRISE_CUDA_ON_CPU
  return cuda_on_cpu::exp2_approx(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
#endif
}

// Loads 16 bytes that are read once, bypassing L1; this kernel must never write them
// (ld.global.nc). The address is a multiple of 16.
__device__ __forceinline__ uint4 load_once(const void* global) {
#ifdef REPRISE_CUDA_ON_CPU
  return cuda_on_cpu::load_global_16(global);
#else
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(global));
  return value;
#endif
}

// Rounds two numbers to T (nearest even) in one register, `low` in its lower half; unpack_pair() is
// the inverse.
template <typename T>
__device__ __forceinline__ uint32_t pack_pair(float low, float high) {
  static_assert(is_half_like<T>);
#ifdef REPRISE_CUDA_ON_CPU
  return cuda_on_cpu::pack_pair(low, high, /*is_bf16=*/std::is_same_v<T, __nv_bfloat16>);
#else
  uint32_t pair;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
#endif
}

// Returns the pair whose element i is a(i) * b(i) + c(i), rounded once (fma.rn.bf16x2,
// fma.rn.f16x2).
template <typename T>
__device__ __forceinline__ uint32_t multiply_add_pairs(uint32_t a, uint32_t b, uint32_t c) {
  static_assert(is_half_like<T>);
#ifdef REPRISE_CUDA_ON_CPU
  return cuda_on_cpu::multiply_add_pairs(a, b, c,
                                         /*is_bf16=*/std::is_same_v<T, __nv_bfloat16>);
#else
  uint32_t sum;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;\n" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  } else {
    asm("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  }
  return sum;
#endif
}

template <typename T>
__device__ __forceinline__ float2 unpack_pair(uint32_t pair) {
  static_assert(is_half_like<T>);
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  return {__half2float(__ushort_as_half(static_cast<unsigned short>(pair & 0xffffu))),
          __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16)))};
}

}  // namespace reprise::kernels::cuda
