// CUDA's device functions under their own names: indices, barriers, warp operations, atomics and
// single-precision arithmetic. Warp operations take the source location of the call for reports.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "tests/cuda_on_cpu/vector_types.h"

// The indices of the running thread, which the emulator sets whenever it switches threads.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

// ---- Barriers and fences. Memory accesses are ordered by these alone [CUDA C++ Programming Guide,
// "Warp Shuffle Functions": shuffles imply no memory barrier]. ----

// Every thread of the block must come to the same call. Fault (kBarrier) if one has returned or
// waits at another call.
void __syncthreads(std::source_location where = std::source_location::current());
// Orders the accesses of the warp's lanes if `mask` names all lanes that have not returned.
void __syncwarp(unsigned mask = 0xffffffffu,
                std::source_location where = std::source_location::current());
// Orders accesses of different blocks, together with atomics: see block_order.h.
void __threadfence();
// Is weaker than __threadfence() and __syncthreads(). Here it orders nothing.
inline void __threadfence_block() {}

// ---- Shuffles and votes among the lanes of `mask` [CUDA C++ Programming Guide, "Warp Vote
// Functions", "Warp Shuffle Functions"] ----

namespace cuda_on_cpu {

enum class Shuffle : uint8_t { kIndex, kUp, kDown, kXor };

// The lane whose value `lane` receives: `lane` itself if the source would lie outside its group of
// `width` lanes (but kXor may read an earlier group).
int shuffle_source(Shuffle shuffle, int lane, int operand, int width);
uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t value, int operand, int width,
                 const std::source_location& where);

template <typename T>
T shuffle_value(Shuffle kind, unsigned mask, T value, int operand, int width,
                const std::source_location& where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffle(kind, mask, bits, operand, width, where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace cuda_on_cpu

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              std::source_location where = std::source_location::current()) {
  return cuda_on_cpu::shuffle_value(cuda_on_cpu::Shuffle::kIndex, mask, value, source, width,
                                    where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 std::source_location where = std::source_location::current()) {
  return cuda_on_cpu::shuffle_value(cuda_on_cpu::Shuffle::kUp, mask, value, static_cast<int>(delta),
                                    width, where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   std::source_location where = std::source_location::current()) {
  return cuda_on_cpu::shuffle_value(cuda_on_cpu::Shuffle::kDown, mask, value,
                                    static_cast<int>(delta), width, where);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  std::source_location where = std::source_location::current()) {
  return cuda_on_cpu::shuffle_value(cuda_on_cpu::Shuffle::kXor, mask, value, lanes, width, where);
}

unsigned __ballot_sync(unsigned mask, int predicate,
                       std::source_location where = std::source_location::current());
int __any_sync(unsigned mask, int predicate,
               std::source_location where = std::source_location::current());
int __all_sync(unsigned mask, int predicate,
               std::source_location where = std::source_location::current());

// ---- Atomics return the previous value. They race with other accesses, but not with each other.
// ----

int atomicAdd(int* address, int value);
unsigned atomicAdd(unsigned* address, unsigned value);
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value);
// Adds 1, or writes 0 if the value is `last` or more.
unsigned atomicInc(unsigned* address, unsigned last);
float atomicAdd(float* address, float value);
int atomicMax(int* address, int value);
unsigned atomicMax(unsigned* address, unsigned value);

// ---- Values ----

template <typename T>
T __ldg(const T* address) {
  return *address;
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
// The upper 32 bits of the product.
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}

// Rounded once, whereas the device's result is within 2 units in the last place.
inline float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
// Never part of a fused multiplication and addition.
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdividef(float x, float y) { return x / y; }

template <typename T>
requires std::is_arithmetic_v<T>
constexpr T min(T a, T b) { return b < a ? b : a; }
template <typename T>
requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) { return a < b ? b : a; }
