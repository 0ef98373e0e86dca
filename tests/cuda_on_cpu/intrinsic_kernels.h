// Kernels that call each device function and return its results, lane by lane.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace reprise::kernels::cuda::intrinsics {

enum class Shuffle : uint8_t { kIndex, kUp, kDown, kXor };
// [32]  lane whose value each lane of a full warp receives.
std::vector<int> shuffled_lanes(Shuffle shuffle, int operand, int width);

struct Votes {
  std::vector<uint32_t> ballot, any, all;  // [32]  of each lane
};
// Lane i votes bit i of `votes`.
Votes votes(uint32_t votes);

// [32][matrices]  registers of load_matrices<matrices>() from 8 x 8 matrices one after the other in
// shared memory, row-major, whose element e (counted over all) is e.
std::vector<uint32_t> loaded_matrices(int matrices, bool is_transposed);

// One warp's c + a b: [32][4] each of a's and c's registers, [32][2] of b's.
struct Product {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
};
std::vector<float> product(const Product& product, bool is_bf16);

// A [16, 16] times B [16, 8], 16-bit elements, as a kernel goes about it: rows to shared memory by
// copy_async, fragments by load_matrices. [16, 8] row-major.
std::vector<float> whole_product(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                 bool is_bf16);

// c + a b by warpgroup_multiply_add(): a [64, 16] and b of 16-bit elements, c [64, n]. What b is
// taken from lies in shared memory as swizzled_matrix() says.
struct WarpgroupProduct {
  std::vector<uint16_t> a;
  // is_transposed: [64, n], of which rows first .. first + 15 are b. Else [n, 64], of which columns
  // first .. first + 15 are b's transpose.
  std::vector<uint16_t> b;
  std::vector<float> c;
  int n = 64;  // or 128
  int first = 0;
  bool is_transposed = false;
  bool is_bf16 = true;
};
std::vector<float> warpgroup_product(const WarpgroupProduct& product);

// Three warps exchange numbers by a barrier. [rounds][96]  in round k each thread writes
// 100 k + its index, and reads what the thread 32 behind it (modulo 96) wrote.
std::vector<int> exchanged(int rounds);

// Two warps copy [tiles][64] numbers into a ring of three stages, and two others add up each of
// their own. [64]  the sums over tiles, weighted by 1, 2, ...
std::vector<int> ring_sums(const std::vector<int>& numbers);

// The 16 bytes of 0xee after copy_async<bytes> from the bytes 1, 2, ... 16.
std::vector<uint8_t> copied(int bytes, int source_bytes);

std::vector<float> exp2_of(const std::vector<float>& x);
// Pairs (x[2 i], x[2 i + 1]) in one register each, and what comes back from it.
struct Packed {
  std::vector<uint32_t> pairs;
  std::vector<float> unpacked;
};
Packed packed(const std::vector<float>& x, bool is_bf16);
// a[i] b[i] + c[i] by multiply_add_pairs(), of numbers that the 16-bit type holds. An even count.
std::vector<float> sums_of_pairs(const std::vector<float>& a, const std::vector<float>& b,
                                 const std::vector<float>& c, bool is_bf16);

// [gridDim][blockDim] in linear order: x, y, z of the thread and of the block, one after the other.
std::vector<std::array<unsigned, 6>> indices(std::array<unsigned, 3> grid,
                                             std::array<unsigned, 3> block);

struct Atomics {
  int sum = 0, largest = 0;
  float float_sum = 0.0f;
};
// Over threads 0 .. threads - 1 of some blocks, starting from 0.
Atomics atomics(int threads);

}  // namespace reprise::kernels::cuda::intrinsics
