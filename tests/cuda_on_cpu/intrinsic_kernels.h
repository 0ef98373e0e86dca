// Kernels that call each device function and return its results, lane by lane.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace reprise::kernels::cuda::intrinsics {

enum class Shuffle : uint8_t { kIndex, kUp, kDown, kXor };
// [32] For each lane of a full warp, the lane whose value it receives.
std::vector<int> shuffled_lanes(Shuffle shuffle, int operand, int width);

struct Votes {
  std::vector<uint32_t> ballot, any, all;  // [32]  of each lane
};
// Lane i votes bit i of `votes`.
Votes votes(uint32_t votes);

// [32][matrices] The registers that load_matrices<matrices>() gives each lane. The 8 x 8 matrices
// lie one after the other in shared memory, row-major; the value of each element is its index in
// memory.
std::vector<uint32_t> loaded_matrices(int matrices, bool is_transposed);

// One warp's c + a b: [32][4] each of a's and c's registers, [32][2] of b's.
struct Product {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
};
std::vector<float> product(const Product& product, bool is_bf16);

// Multiplies A [16, 16] by B [16, 8], with 16-bit elements, in the steps of a kernel: copy_async
// takes rows to shared memory, load_matrices takes fragments from there. Returns [16, 8] row-major.
std::vector<float> whole_product(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                 bool is_bf16);

// c + a b by warpgroup_multiply_add(), where a is [64, 16], c is [64, n], and a and b have 16-bit
// elements. b is a part of a matrix in shared memory, laid out as swizzled_matrix() says.
struct WarpgroupProduct {
  std::vector<uint16_t> a;
  // The matrix that has b as a part. If is_transposed, it is [64, n], and b is its rows first ..
  // first + 15. Otherwise it is [n, 64], and its columns first .. first + 15 are b's transpose.
  std::vector<uint16_t> b;
  std::vector<float> c;
  int n = 64;  // or 128
  int first = 0;
  bool is_transposed = false;
  bool is_bf16 = true;
};
std::vector<float> warpgroup_product(const WarpgroupProduct& product);

// Three warps exchange numbers through a barrier. Returns [rounds][96]: in round k each thread
// writes 100 k + its index, and reads what the thread 32 behind it (modulo 96) wrote.
std::vector<int> exchanged(int rounds);

// Two warps copy [tiles][64] numbers into a ring of three stages, and two other warps each add up
// half of them. Returns [64]: the sums over tiles, in which tile k has the weight k + 1.
std::vector<int> ring_sums(const std::vector<int>& numbers);

// Copies the box at (row, column) of a matrix [rows, columns] to shared memory. Returns its 512
// elements in the order in which they lie there.
std::vector<uint16_t> copied_box(const std::vector<uint16_t>& matrix, int columns, int row,
                                 int column);

// The 16 bytes of a buffer filled with 0xee, after copy_async<bytes> from the bytes 1 to 16.
std::vector<uint8_t> copied(int bytes, int source_bytes);

std::vector<float> exp2_of(const std::vector<float>& x);
// Each register holds a pair (x[2 i], x[2 i + 1]); `unpacked` are the numbers taken out of the
// registers again.
struct Packed {
  std::vector<uint32_t> pairs;
  std::vector<float> unpacked;
};
Packed packed(const std::vector<float>& x, bool is_bf16);
// a[i] b[i] + c[i] by multiply_add_pairs(). The 16-bit type must hold the numbers, whose count must
// be even.
std::vector<float> sums_of_pairs(const std::vector<float>& a, const std::vector<float>& b,
                                 const std::vector<float>& c, bool is_bf16);

// For each thread [gridDim][blockDim], in linear order: x, y, z of the thread, then of the block.
std::vector<std::array<unsigned, 6>> indices(std::array<unsigned, 3> grid,
                                             std::array<unsigned, 3> block);

struct Atomics {
  int sum = 0, largest = 0;
  float float_sum = 0.0f;
  unsigned wrapped = 0;  // counts from 0 to 6, again and again
};
// Atomic operations by the threads 0 .. threads - 1, in some blocks, on numbers that start from 0.
Atomics atomics(int threads);

}  // namespace reprise::kernels::cuda::intrinsics
